"""cuhk03: single-gallery-shot, one gallery image of each identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reid_core.errors import ConfigError
from reid_core.evaluation.protocols.base import Draws, Protocol, Scoring
from reid_core.evaluation.protocols.cameras import OtherCameras


@dataclass(frozen=True)
class SingleGalleryShot(OtherCameras):
    """Of the entries that count, one of each identity is in the gallery.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        number: Draws; None is the exact expectation.
        seed: Seed of the draws.
    """

    number: int | None = None
    seed: int = 0

    scoring: ClassVar[Scoring] = "single_shot"

    def draws(self) -> Draws | None:
        """Return the seeded draws, None for the expectation."""
        return None if self.number is None else Draws(self.number, self.seed)


def cuhk03(*, draws: int | None = None, seed: int = 0) -> Protocol:
    """Return the single-gallery-shot protocol of CUHK03.

    Entries with the query's pid and camid are left out first. Then one entry of each identity is
    drawn at random for the query, and its rank counts. By default the figures are the exact
    expectation over all draws, which no seed can change. AP with one match is 1 over its rank,
    and so is INP; the mAP over all matches stands beside as ``mAP_all_matches``. Each distractor
    that the data set tells is an identity of its own, so all of them stay.

    Args:
        draws: Seeded draws a query instead of the expectation, at least 1; 10 is usual.
        seed: Seed of the draws, at least 0.

    Raises:
        ConfigError: ``draws`` or ``seed`` is out of range.

    Source: Li et al., DeepReID: Deep Filter Pairing Neural Network for Person Re-Identification,
    CVPR 2014; the expectation: original.
    """
    if draws is not None and draws < 1:
        raise ConfigError(
            f"protocol cuhk03: draws is {draws}; expected at least 1, or none for the expectation"
        )
    if seed < 0:
        raise ConfigError(f"protocol cuhk03: seed is {seed}; expected at least 0")
    told = "expectation over all draws" if draws is None else f"{draws} draws, seed {seed}"
    return SingleGalleryShot(
        name="cuhk03",
        description=(
            f"single gallery shot: one image of each identity ({told}), matches in the query's "
            "own camera left out, junk (pid -1) ignored"
        ),
        number=draws,
        seed=seed,
    )
