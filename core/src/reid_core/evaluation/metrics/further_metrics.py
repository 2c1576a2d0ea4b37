"""Figures beside AP, INP and CMC, from the places of matches; ties count as in ``metrics``.

Letters in the formulas are those of :mod:`reid_core.evaluation.metrics.rank_metrics`: a group of n
entries at one distance, of which r match, after N entries of which R match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.metrics.rank_metrics import TieGroups, average_precision


def trapezoid_precision(groups: TieGroups, num_matches: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the average precision by trapezoids, as Market-1501's own code does.

    Each match at rank k counts the mean of the precision at k and at k − 1, the latter being 1 at
    rank 0. It is not the average precision that papers report since 2017, and is lower.

    Args:
        groups: Groups of Q queries.
        num_matches: (Q,) int64 valid matches a query.

    Returns:
        (Q,) float64 in [0, 1]; NaN for a query without a match.

    Source: Philbin et al., Object retrieval with large vocabularies and fast spatial matching,
    CVPR 2007 (``compute_ap``); taken over by Zheng et al., ICCV 2015.
    """
    first, size = groups.before, groups.size
    spread = (groups.matches - 1) / np.maximum(size - 1, 1)
    # Precision before place i of the group: (R + (i − 1)·spread) / (N + i − 1), and 1 at rank 0.
    places = 1.0 / np.arange(1, 1 + (first + size).max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(places)])
    # Σ 1/(N + i − 1) and Σ (i − 1)/(N + i − 1), both without rank 0.
    is_start = first == 0
    inverse = harmonic[first + size - 1] - harmonic[np.maximum(first - 1, 0)]
    offset = np.where(is_start, size - 1, size - first * inverse)
    before = groups.matches_before * inverse + spread * offset + is_start
    mean_before = _query_means(groups, groups.matches * before / size, num_matches)
    return (mean_before + average_precision(groups, num_matches)) / 2


def matches_within(
    groups: TieGroups, depth: NDArray[np.int64], num_matches: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the share of a query's matches within its first entries (recall).

    Args:
        groups: Groups of Q queries.
        depth: (Q,) int64 entries looked at, a query. The number of matches gives R-precision.
        num_matches: (Q,) int64 valid matches a query.

    Returns:
        (Q,) float64 in [0, 1]; NaN for a query without a match.

    Source: Manning et al., Introduction to Information Retrieval, 2008, chapter 8.
    """
    drawn = np.clip(depth[groups.query] - groups.before, 0, groups.size)
    return _query_means(groups, groups.matches * drawn / groups.size, num_matches)


def found_within(
    groups: TieGroups, ranks: Sequence[int], num_matches: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute for each query the chance of a match within its first k entries.

    Without ties it is 0 or 1. The mean over the queries is the CMC at k, which metric learning
    calls recall@k.

    Args:
        groups: Groups of Q queries.
        ranks: K values of k, each at least 1.
        num_matches: (Q,) int64 valid matches a query.

    Returns:
        (Q, K) float64 in [0, 1]; NaN for a query without a match.
    """
    is_first = groups.matches_before == 0
    query = groups.query[is_first]
    sizes = np.stack([groups.size, groups.matches], axis=1)[is_first]
    found = np.full((len(num_matches), len(ranks)), np.nan)
    for column, k in enumerate(ranks):
        drawn = np.clip(k - groups.before[is_first], 0, sizes[:, 0])
        # A collapsed model has few distinct groups, each as large as the gallery.
        cases = np.column_stack([sizes, drawn])
        distinct, inverse = np.unique(cases, axis=0, return_inverse=True)
        chances = np.array([_chance_of_one(*row) for row in distinct.tolist()])
        found[query, column] = chances[inverse.reshape(-1)] if query.size else np.nan
    return found


def chance_precision(
    num_matches: NDArray[np.int64], num_candidates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the average precision that a random order gives on average.

    It is that of all candidates at one distance: the exact expectation, above the share of matches.

    Args:
        num_matches: (Q,) int64 valid matches a query.
        num_candidates: (Q,) int64 gallery entries that count for a query.

    Returns:
        (Q,) float64 in [0, 1]; NaN for a query without a match.

    Source: Bestgen, Exact expected average precision of the random baseline, 2015.
    """
    query = np.flatnonzero(num_matches)
    zeros = np.zeros(len(query), dtype=np.int64)
    groups = TieGroups(query, zeros, num_candidates[query], zeros, num_matches[query])
    return average_precision(groups, num_matches)


def is_mostly_tied(groups: TieGroups, num_candidates: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for which queries most of the gallery ties with a match.

    Args:
        groups: Groups of Q queries.
        num_candidates: (Q,) int64 gallery entries that count for a query.

    Returns:
        (Q,) bool, True where the groups that are ties hold over half of the entries that count.
    """
    tied = np.where(groups.size > 1, groups.size, 0)
    totals = np.bincount(groups.query, weights=tied, minlength=len(num_candidates))
    return np.asarray(2 * totals > num_candidates)


def _chance_of_one(size: int, matches: int, drawn: int) -> float:
    """Return the chance that ``drawn`` of ``size`` entries hold one of the ``matches``."""
    steps = np.arange(drawn)
    missed = np.maximum(size - matches - steps, 0) / np.maximum(size - steps, 1)
    return float(1.0 - missed.prod())


def _query_means(
    groups: TieGroups, sums: NDArray[np.float64], num_matches: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Add up what the groups of each query give, and divide by its number of matches."""
    totals = np.bincount(groups.query, weights=sums, minlength=len(num_matches))
    means = np.full(len(num_matches), np.nan)
    np.divide(totals, num_matches, out=means, where=num_matches > 0)
    return means
