"""AP, INP and CMC from the places of matches; ties count by what they give on average.

Entries at one distance have no order. A figure that takes them as they come depends on the order
of the gallery's rows, and a model whose embeddings all collapse to one point can score well. So
the figures here are exact expectations over all orders of tied entries. Without ties they are the
usual ones. Source: McSherry and Najork, Computing Information Retrieval Performance Measures
Efficiently in the Presence of Tied Scores, ECIR 2008.

Letters in the formulas: a group is the entries at one distance from a query, at least one of them
a match. It has n entries of which r match; before it stand N entries of which R match.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.matches import MatchRanks


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Matches grouped by distance, sorted by query and then by distance.

    Args:
        query: (T,) int64 row of the query.
        before: (T,) int64, N of each group.
        size: (T,) int64, n of each group; 1 without ties.
        matches_before: (T,) int64, R of each group.
        matches: (T,) int64, r of each group.
    """

    query: NDArray[np.int64]
    before: NDArray[np.int64]
    size: NDArray[np.int64]
    matches_before: NDArray[np.int64]
    matches: NDArray[np.int64]


def group_ties(ranks: MatchRanks) -> TieGroups:
    """Group the matches of each query that are at one distance.

    Args:
        ranks: Places of M matches of Q queries.

    Returns:
        Groups with at least one match each.
    """
    is_first = np.ones(len(ranks.query), dtype=bool)
    is_first[1:] = (np.diff(ranks.query) != 0) | (np.diff(ranks.before) != 0)
    first = np.flatnonzero(is_first)
    query = ranks.query[first]
    query_start = np.cumsum(ranks.num_matches) - ranks.num_matches
    return TieGroups(
        query=query,
        before=ranks.before[first],
        size=ranks.tied[first],
        matches_before=first - query_start[query],
        matches=np.diff(first, append=len(ranks.query)),
    )


def average_precision(groups: TieGroups, num_matches: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the mean over the matches of the precision at each match (no interpolation).

    Over all orders of a group, its matches have the expected precision
    ``1/n · Σ_i (R + 1 + (i − 1)(r − 1)/(n − 1)) / (N + i)`` for i = 1..n.

    Args:
        groups: Groups of Q queries.
        num_matches: (Q,) int64 valid matches a query.

    Returns:
        (Q,) float64 in [0, 1]; NaN for a query without a match.

    Source: McSherry and Najork 2008 (average precision with ties).
    """
    first, size = groups.before, groups.size
    harmonic = np.concatenate(
        [[0.0], np.cumsum(1.0 / np.arange(1, 1 + (first + size).max(initial=0)))]
    )
    # Σ 1/(N + i) and Σ (i − 1)/(N + i); exact where nothing is tied.
    inverse = np.where(size == 1, 1.0 / (first + 1), harmonic[first + size] - harmonic[first])
    offset = np.where(size == 1, 0.0, size - (first + 1) * inverse)
    spread = (groups.matches - 1) / np.maximum(size - 1, 1)
    precision = ((groups.matches_before + 1) * inverse + spread * offset) / size
    sums = np.bincount(groups.query, weights=groups.matches * precision, minlength=len(num_matches))
    mean_precision = np.full(len(num_matches), np.nan)
    np.divide(sums, num_matches, out=mean_precision, where=num_matches > 0)
    return mean_precision


def inverse_negative_penalty(
    groups: TieGroups, num_matches: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the number of matches over the rank of the last one.

    Args:
        groups: Groups of Q queries.
        num_matches: (Q,) int64 valid matches a query.

    Returns:
        (Q,) float64 in [0, 1]; NaN for a query without a match.

    Source: Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, 2021
    (one minus the negative penalty).
    """
    is_last = np.diff(groups.query, append=-1) != 0
    query = groups.query[is_last]
    places = np.stack([groups.before, groups.size, groups.matches], axis=1)[is_last]
    # A collapsed model has few distinct groups, each as large as the gallery.
    distinct, inverse = np.unique(places, axis=0, return_inverse=True)
    expected = np.array([_expected_inverse_last_rank(*row) for row in distinct.tolist()])
    penalty = np.zeros(len(num_matches))
    penalty[query] = num_matches[query] * expected[inverse.reshape(-1)] if query.size else 0.0
    return np.where(num_matches > 0, penalty, np.nan)


def cumulative_match(groups: TieGroups, *, max_rank: int) -> NDArray[np.float64]:
    """Compute the share of queries with a match within the first k entries.

    Args:
        groups: Groups of Q queries; queries without a match have none and do not count.
        max_rank: Largest k.

    Returns:
        (max_rank,) float64, k from 1; it stays at its last value beyond the end of the gallery.

    Source: Moon and Phillips, Computational and performance aspects of PCA-based face-recognition
    algorithms, 2001 (the cumulative match characteristic).
    """
    is_first = groups.matches_before == 0
    before = groups.before[is_first, None]
    size = groups.size[is_first, None]
    matches = groups.matches[is_first, None]
    # Entries of the group that stand before rank k, and the chance that the one at k misses too
    # when all before it did.
    drawn = np.arange(max_rank) - before
    miss = np.maximum(size - matches - drawn, 0) / np.maximum(size - drawn, 1)
    missed = np.cumprod(np.where(drawn < 0, 1.0, miss), axis=1)
    return np.asarray(1.0 - missed.mean(axis=0), dtype=np.float64)


def _expected_inverse_last_rank(before: int, size: int, matches: int) -> float:
    # The last match is at place j of the group with chance C(j−1, r−1) / C(n, r): r/n for j = n,
    # and (j − r)/(j − 1) of the chance at j for j − 1.
    places = np.arange(size, matches, -1, dtype=np.float64)
    steps = np.concatenate([[1.0], (places - matches) / (places - 1)])
    chances = matches / size * np.cumprod(steps)
    ranks = before + np.arange(size, matches - 1, -1, dtype=np.float64)
    return float((chances / ranks).sum())
