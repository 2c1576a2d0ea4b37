"""PRCC: queries of one camera, random galleries of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import JUNK_PID, Protocol, Trial
from reid_core.evaluation.protocols.clothes import CLOTHIDS
from reid_core.evaluation.protocols.columns import junk_excluded
from reid_core.evaluation.protocols.draws import (
    draws_text,
    grouped_rows,
    published_draws,
    require_draws,
)

#: Whether queries wear the gallery's clothes.
Clothes = Literal["same", "changed"]
#: Whether one drawn image of each identity is the gallery, or all are.
Gallery = Literal["one", "all"]


@dataclass(frozen=True)
class OtherCameraSingleShot(Protocol):
    """The rule of PRCC: no match is left out, since query and gallery are of two cameras.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        clothes: Whether queries wear the gallery's clothes; a set that says otherwise is refused.
        gallery: ``one`` drawn image of each identity, or ``all``.
        num_draws: How many galleries are drawn.
        seed: Number of the first draw.
    """

    clothes: Clothes = "changed"
    gallery: Gallery = "one"
    num_draws: int = 10
    seed: int = 0

    excludes_own_pid_only: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk."""
        return junk_excluded(query, gallery)

    def trials(self, query: Labels, gallery: Labels) -> Sequence[Trial] | None:
        """Draw the galleries: one image of each identity.

        Raises:
            DataError: The test set does not tell clothes, they are not those of the setting, or
                the gallery is drawn already.
        """
        self._require_clothes(query, gallery)
        if self.gallery == "all":
            return None
        offered = np.flatnonzero(gallery.pids != JUNK_PID)
        groups = grouped_rows(offered + len(query), gallery.pids[offered])
        if self.num_draws > 1 and all(len(group) == 1 for group in groups):
            raise DataError(
                f"protocol {self.name}: the gallery has one image of each identity already, so "
                f"{self.num_draws} draws would all be the same; set the data set's parameter "
                "gallery to all, or the protocol's draws to 1"
            )
        return published_draws(groups, np.arange(len(query)), draws=self.num_draws, seed=self.seed)

    def _require_clothes(self, query: Labels, gallery: Labels) -> None:
        worn: dict[int, set[object]] = {}
        clothes = gallery.column(CLOTHIDS).tolist()
        for pid, cloth in zip(gallery.pids.tolist(), clothes, strict=True):
            worn.setdefault(pid, set()).add(cloth)
        pairs = zip(query.pids.tolist(), query.column(CLOTHIDS).tolist(), strict=True)
        known = [(cloth, worn[pid]) for pid, cloth in pairs if pid in worn]
        if self.clothes == "changed":
            wrong = sum(cloth in of_pid for cloth, of_pid in known)
            found = "wear the clothes of gallery images of their identity"
        else:
            wrong = sum(of_pid != {cloth} for cloth, of_pid in known)
            found = "wear other clothes than gallery images of their identity"
        if wrong:
            other = "same" if self.clothes == "changed" else "changed"
            raise DataError(
                f"protocol {self.name}: clothes is {self.clothes}, and {wrong} of {len(query)} "
                f"queries {found} (column {CLOTHIDS}); set clothes: {self.clothes} on data set "
                f"prcc, or clothes: {other} on the protocol"
            )


def prcc(
    *,
    clothes: Clothes = "changed",
    gallery: Gallery = "one",
    draws: int = 10,
    seed: int = 0,
) -> Protocol:
    """Return the protocol of PRCC.

    Queries are of camera C, in other clothes than the gallery's, or of camera B, in the same; the
    gallery is of camera A. So no match is left out. In the paper the gallery is one random image
    of each identity, and figures are means over ten of them; many later papers search all images
    of camera A.

    The draws are those of the data set ``prcc``: Python's generator seeded with the number of the
    draw, over identities in ascending order and images in the order of their names.

    Args:
        clothes: Whether queries wear ``changed`` clothes or the ``same``, which has to be what the
            data set says.
        gallery: ``one`` random image of each identity, or ``all``.
        draws: How many galleries are drawn, 1 or more; not used where ``gallery`` is ``all``.
        seed: Number of the first draw, 0 or more.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Yang et al., Person Re-identification by Contour Sketch under Moderate Clothing Change,
    TPAMI 2021.
    """
    for name, value, choices in (
        ("clothes", clothes, get_args(Clothes)),
        ("gallery", gallery, get_args(Gallery)),
    ):
        if value not in choices:
            raise ConfigError(
                f"protocol prcc: {name} is {value!r}; expected {' or '.join(choices)}"
            )
    require_draws(draws, seed, protocol="prcc")
    searched = (
        f"gallery of one random image an identity, {draws_text(draws, seed)}"
        if gallery == "one"
        else "gallery of all images"
    )
    return OtherCameraSingleShot(
        name="prcc",
        description=(
            f"clothes {clothes}: no match left out, {searched}, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
        clothes=clothes,
        gallery=gallery,
        num_draws=draws,
        seed=seed,
    )
