"""A distance up to which two images are taken for one identity: chosen on one set, used on others.

A pair of a query and a gallery entry that counts is accepted where its distance is at most the
threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.metrics.pair_blocks import pair_blocks
from reid_core.evaluation.metrics.roc import RocCounts
from reid_core.evaluation.metrics.verification import roc_counts
from reid_core.evaluation.search import Search


@dataclass(frozen=True)
class Criterion:
    """What a threshold is chosen for.

    Args:
        kind: ``fpr``, the largest threshold that accepts at most this share of the pairs of two
            identities; ``tpr``, the smallest that accepts at least this share of the pairs of one;
            ``eer``, where the share of the one that is accepted and the share of the other that is
            rejected differ least, among the corners of the curve.
        rate: The share, 0 < rate < 1; 0 for ``eer``.
        text: As it was written.
    """

    kind: Literal["fpr", "tpr", "eer"]
    rate: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Criterion:
        """Read ``fpr=1e-3``, ``tpr=0.95`` or ``eer``.

        Raises:
            UsageError: It is something else.
        """
        name, _, value = text.replace(" ", "").partition("=")
        try:
            rate = float(value) if value else 0.0
        except ValueError:
            rate = -1.0
        if name == "eer" and not value:
            return cls("eer", 0.0, "eer")
        if name == "fpr" and 0 < rate < 1:
            return cls("fpr", rate, f"fpr={value}")
        if name == "tpr" and 0 < rate < 1:
            return cls("tpr", rate, f"tpr={value}")
        raise UsageError(
            f"--calibrate {text}: expected fpr=RATE, tpr=RATE or eer, with a rate between 0 and 1, "
            "for example --calibrate fpr=1e-3"
        )


@dataclass(frozen=True)
class ThresholdRates:
    """What a threshold does on a set.

    Args:
        num_same: Pairs of one identity that count.
        accepted_same: Those of them that are accepted.
        num_different: Pairs of two identities that count.
        accepted_different: Those of them that are accepted.
    """

    num_same: int
    accepted_same: int
    num_different: int
    accepted_different: int

    @property
    def tpr(self) -> float:
        """Share of the pairs of one identity that are accepted; NaN without such pairs."""
        return self.accepted_same / self.num_same if self.num_same else float("nan")

    @property
    def fpr(self) -> float:
        """Share of the pairs of two identities that are accepted; NaN without such pairs."""
        return self.accepted_different / self.num_different if self.num_different else float("nan")

    def plain(self) -> dict[str, float]:
        """Return rates and counts by name."""
        return {
            "tpr": self.tpr,
            "fpr": self.fpr,
            "num_same": self.num_same,
            "accepted_same": self.accepted_same,
            "num_different": self.num_different,
            "accepted_different": self.accepted_different,
        }


def choose_threshold(searches: Iterable[Search], criterion: Criterion) -> float:
    """Choose a threshold, exactly, over all pairs that count.

    Args:
        searches: The searches of the set it is chosen on; of several trials, the mean of their
            thresholds is taken.
        criterion: What it is chosen for.

    Returns:
        The threshold, a distance.

    Raises:
        DataError: The set has too few pairs to tell, or the embeddings do not reach the rate.
    """
    thresholds = [_choose(roc_counts(search), criterion) for search in searches]
    return sum(thresholds) / len(thresholds)


def threshold_rates(searches: Iterable[Search], threshold: float) -> ThresholdRates:
    """Count what a threshold accepts.

    Args:
        searches: The searches of a test set; pairs of several trials are counted together.
        threshold: A distance.

    Returns:
        The counts.
    """
    counts = np.zeros(4, dtype=np.int64)
    for search in searches:
        for block in pair_blocks(search):
            same = block.same()
            is_accepted = (block.distances <= threshold) & block.allowed
            num_accepted = int(np.count_nonzero(same <= threshold))
            counts += np.array(
                [
                    len(same),
                    num_accepted,
                    np.count_nonzero(block.allowed) - len(same),
                    np.count_nonzero(is_accepted) - num_accepted,
                ]
            )
    return ThresholdRates(*counts.tolist())


def _choose(counts: RocCounts, criterion: Criterion) -> float:
    if criterion.kind == "tpr":
        return counts.at_least_tpr(criterion.rate).threshold
    if criterion.kind == "eer":
        return counts.equal_error().threshold
    needed = math.ceil(1 / criterion.rate - 1e-9)
    if counts.num_different < needed:
        raise DataError(
            f"{criterion.text} cannot be told on {counts.num_different} pairs of two identities: "
            f"it asks for at least {needed}; choose a larger validation set, or a larger rate"
        )
    point = counts.at_most_fpr(criterion.rate)
    if point is None:
        raise DataError(
            f"{criterion.text} cannot be reached: more pairs of two identities than that are "
            "nearer than all pairs of one; the embeddings do not tell identities apart, so choose "
            "a larger rate, or train further"
        )
    return point.threshold
