"""VehicleID: galleries of one image a vehicle, drawn ten times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reid_core.errors import DataError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import JUNK_PID, Protocol, Trial
from reid_core.evaluation.protocols.cameras import AnyCamera
from reid_core.evaluation.protocols.draws import draws_text, require_draws


@dataclass(frozen=True)
class OneImageGalleries(AnyCamera):
    """In each draw one random image of each identity is the gallery, the others are the probes.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        junk_pid: Entries of this pid are left out.
        num_draws: How many galleries are drawn.
        seed: Seed of the draws.
    """

    num_draws: int = 10
    seed: int = 0

    pools: ClassVar[bool] = True

    def trials(self, query: Labels, gallery: Labels) -> Sequence[Trial]:
        """Draw the galleries from all rows of the test set.

        Raises:
            DataError: The set is cut with more than one gallery image of an identity, or no
                identity has two images.
        """
        self._require_single(query, gallery)
        pids = np.concatenate([query.pids, gallery.pids])
        rows = np.flatnonzero(pids != JUNK_PID)
        rows = rows[np.argsort(pids[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(pids[rows], prepend=JUNK_PID))
        sizes = np.diff(starts, append=len(rows))
        if not (sizes > 1).any():
            raise DataError(
                f"protocol {self.name}: {len(rows)} images of {len(starts)} identities, none with "
                "two: one image of each is the gallery, and nothing is left to search for; "
                "expected a test set with several images of an identity"
            )
        trials = []
        for sequence in np.random.SeedSequence(self.seed).spawn(self.num_draws):
            drawn = starts + np.random.default_rng(sequence).integers(sizes)
            is_probe = np.ones(len(rows), dtype=bool)
            is_probe[drawn] = False
            trials.append(Trial(query=np.sort(rows[is_probe]), gallery=rows[drawn]))
        return trials

    def _require_single(self, query: Labels, gallery: Labels) -> None:
        """Refuse probes and gallery that are exchanged; a set with one side alone is uncut."""
        identities = len(np.unique(gallery.pids))
        if len(query) and len(gallery) > identities:
            raise DataError(
                f"protocol {self.name}: the gallery has {len(gallery)} images of {identities} "
                f"identities, and there are {len(query)} queries; expected a gallery of one image "
                "an identity, the other images being the queries: if the two are exchanged, "
                "exchange the splits query and gallery, else choose another evaluate.protocol"
            )


def vehicleid(*, draws: int = 10, seed: int = 0) -> Protocol:
    """Return the protocol of VehicleID.

    Query and gallery are one pool. In each draw one random image of each identity is the gallery
    and all others are the probes. An identity with one image is in the gallery alone, as a mistake
    for all probes. Cameras are not looked at. A probe has one match, so its AP is one over the rank
    of that. Published are ranks 1 and 5, means over ten draws.

    Args:
        draws: How many galleries are drawn, 1 or more; figures are means over them.
        seed: Seed of the draws, 0 or more; the same seed draws the same.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Liu et al., Deep Relative Distance Learning: Tell the Difference Between Similar
    Vehicles, CVPR 2016.
    """
    require_draws(draws, seed, protocol="vehicleid")
    return OneImageGalleries(
        name="vehicleid",
        description=(
            "gallery of one random image an identity, all others are probes, any camera counts, "
            f"junk (pid -1) ignored, {draws_text(draws, seed)}"
        ),
        num_draws=draws,
        seed=seed,
    )
