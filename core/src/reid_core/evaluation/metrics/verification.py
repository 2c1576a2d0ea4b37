"""Verification: are two images of one identity? ROC, AUC, EER and TPR at FPR, exact and in blocks.

A pair is accepted where its distance is at most the threshold. The whole curve is known from the
pairs of one identity, which are few, and from how many pairs of two identities are nearer than
each of them; so the many pairs of two identities are only counted, and never kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.detail import Histogram, Verification
from reid_core.evaluation.matches import Distances
from reid_core.evaluation.metrics.pair_blocks import PairBlock, pair_blocks
from reid_core.evaluation.metrics.roc import RocCounts
from reid_core.evaluation.search import Search

#: False positive rates that results name, as they are written.
NAMED_RATES = ("1e-4", "1e-3", "1e-2", "1e-1")
#: Bins of the histogram of distances.
HISTOGRAM_BINS = 100


class SamePairs:
    """The distances of all pairs of one identity, and the range of all pairs.

    Memory is 4 bytes a pair of one identity (8 where distances are float64).
    """

    def __init__(self) -> None:
        self._parts: list[Distances] = []
        self.lowest = np.inf
        self.highest = -np.inf

    def add(self, block: PairBlock) -> None:
        """Take the pairs of some queries."""
        self._parts.append(block.same())
        values, allowed = block.distances, block.allowed
        self.lowest = min(self.lowest, float(np.min(values, where=allowed, initial=np.inf)))
        self.highest = max(self.highest, float(np.max(values, where=allowed, initial=-np.inf)))

    @property
    def distances(self) -> Distances:
        """The distances in no particular order, (S,)."""
        return np.concatenate([np.empty(0, dtype=np.float32), *self._parts])


def roc_counts(
    search: Search, *, same: SamePairs | None = None, edges: Sequence[float] = ()
) -> RocCounts:
    """Count the pairs of a search.

    Memory is that of a block of distances and of 32 bytes a pair of one identity.

    Args:
        search: Labels, distances and the rule.
        same: The pairs of one identity, where they are known already; finding them takes a pass.
        edges: Edges of the bins of the histogram, ascending; what lies outside counts in the
            outermost bin. By default the range of the distances is cut into equal bins.

    Returns:
        The exact curve.

    Raises:
        DataError: There is no pair of one identity, or none of two.
    """
    if same is None:
        same = SamePairs()
        for block in pair_blocks(search):
            same.add(block)
    distances = same.distances
    distances.sort()
    is_last = np.append(distances[1:] != distances[:-1], True)[: len(distances)]
    values = distances[is_last]
    bins = _bins(same.lowest, same.highest) if not len(edges) else np.array(edges)
    below, upto = np.zeros((2, len(values)), dtype=np.int64)
    spread = np.zeros(len(bins) - 1, dtype=np.int64)
    num_different = 0
    for block in pair_blocks(search):
        different = block.different()
        # Few sorted values are looked up in many: far cheaper than the other way round.
        below += np.searchsorted(different, values, side="left")
        upto += np.searchsorted(different, values, side="right")
        spread += _count_bins(different, bins)
        num_different += len(different)
    if not len(values) or not num_different:
        raise DataError(
            f"verification: {len(distances)} pairs of one identity and {num_different} of two "
            f"count under protocol {search.protocol.name}; expected at least one of each"
        )
    return RocCounts(
        thresholds=values,
        same_upto=np.flatnonzero(is_last) + 1,
        different_below=below,
        different_upto=upto,
        num_different=num_different,
        lowest=same.lowest,
        highest=same.highest,
        histogram=Histogram(bins.tolist(), _count_bins(distances, bins).tolist(), spread.tolist()),
    )


def verification_of(counts: Sequence[RocCounts]) -> Verification:
    """Make the record of one or several searches.

    Args:
        counts: One a search. Figures are means over them, numbers of pairs are sums, and the curve
            is that of the first.

    Returns:
        Figures and curve.
    """
    fpr, tpr, thresholds = counts[0].curve()
    errors = [one.equal_error() for one in counts]
    tpr_at_fpr: dict[str, float] = {}
    threshold_at_fpr: dict[str, float] = {}
    for name in NAMED_RATES:
        points = [one.at_most_fpr(float(name)) for one in counts]
        tpr_at_fpr[name] = float(np.mean([point.tpr if point else 0.0 for point in points]))
        reached = [point.threshold for point in points if point]
        if len(reached) == len(points):
            threshold_at_fpr[name] = float(np.mean(reached))
    return Verification(
        num_same=sum(one.num_same for one in counts),
        num_different=sum(one.num_different for one in counts),
        auc=float(np.mean([one.auc() for one in counts])),
        eer=float(np.mean([error.fpr for error in errors])),
        eer_threshold=float(np.mean([error.threshold for error in errors])),
        tpr_at_fpr=tpr_at_fpr,
        threshold_at_fpr=threshold_at_fpr,
        fpr=fpr,
        tpr=tpr,
        thresholds=thresholds,
    )


def histogram_of(counts: Sequence[RocCounts]) -> Histogram:
    """Add up the histograms of searches that were counted in the same bins."""
    parts = [one.histogram for one in counts]
    return Histogram(
        parts[0].edges,
        np.sum([part.same for part in parts], axis=0).tolist(),
        np.sum([part.different for part in parts], axis=0).tolist(),
    )


def verify(search: Search) -> Verification:
    """Measure verification on a search: all pairs that count.

    Args:
        search: Labels, distances and the rule.

    Returns:
        Figures and curve.

    Raises:
        DataError: There is no pair of one identity, or none of two.
    """
    return verification_of([roc_counts(search)])


def _bins(lowest: float, highest: float) -> NDArray[np.float64]:
    if not lowest < highest:
        middle = lowest if np.isfinite(lowest) else 0.0
        lowest, highest = middle - 0.5, middle + 0.5
    return np.linspace(lowest, highest, HISTOGRAM_BINS + 1)


def _count_bins(ascending: Distances, edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the values in each bin; the outermost hold what lies outside."""
    # In the precision of the values: the other way round would copy all of them.
    inner = np.searchsorted(ascending, edges[1:-1].astype(ascending.dtype), side="left")
    return np.diff(np.concatenate([[0], inner, [len(ascending)]])).astype(np.int64)
