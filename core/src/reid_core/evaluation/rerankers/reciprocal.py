"""k-reciprocal sets: who is among the nearest of each other; and their weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.distances.neighbours import Neighbours
from reid_core.evaluation.rerankers.sparse_rows import SparseRows

#: Cells of the table of a block of rows by all rows, in which membership is looked up; 4 MB of
#: bool and 16 MB of float32.
TABLE_CELLS = 2**22

#: Distances of pairs of rows: (P,) and (P,) int64 to (P,) float32.
PairDistances = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]


def half_of(k1: int) -> int:
    """Return half of k1 as the published code rounds it: to the even one of two neighbours."""
    return int(np.around(k1 / 2))


def most_members(k1: int) -> int:
    """Return the most members that an expanded set can have.

    A neighbour adds what is in its own set and not yet in the expanded one, which is less than a
    third.
    """
    half = half_of(k1) + 1
    return (k1 + 1) * (1 + max(size - (2 * size // 3 + 1) for size in range(1, half + 1)))


def mutual(near: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Say which neighbours have the row among theirs too.

    Args:
        near: (N, k) int32 nearest rows of each row.

    Returns:
        (N, k) bool.
    """
    is_mutual = np.empty(near.shape, dtype=bool)
    step = max(1, TABLE_CELLS // near.shape[1] ** 2)
    for start in range(0, len(near), step):
        block = near[start : start + step]
        rows = np.arange(start, start + len(block), dtype=near.dtype)
        is_mutual[start : start + step] = (near[block] == rows[:, None, None]).any(axis=2)
    return is_mutual


def weighted_sets(neighbours: Neighbours, *, k1: int, pairs: PairDistances) -> SparseRows:
    """Find the expanded k-reciprocal set of each row, and weigh its members by their distance.

    Neighbours that have the row among their k1 + 1 nearest too form its set, itself among them.
    The set of a member, made with half of k1, is added where more than two thirds of it are in
    the set already. A member at distance d, of the largest distance D of the row, weighs
    exp(-(d/D)²), and the weights of a row sum to 1.

    Args:
        neighbours: At least the min(k1 + 1, N) nearest of N rows.
        k1: Neighbours.
        pairs: Distances of those members that are not among the neighbours.

    Returns:
        N rows of weights.
    """
    near = neighbours.columns[:, : k1 + 1]
    half = near[:, : half_of(k1) + 1]
    is_member, is_half_member = mutual(near), mutual(half)
    num_rows = len(near)
    is_in = np.zeros((max(1, TABLE_CELLS // num_rows), num_rows), dtype=bool)
    parts = []
    for start in range(0, num_rows, len(is_in)):
        row, place = np.nonzero(is_member[start : start + len(is_in)])
        member = near[start + row, place]
        is_in[row, member] = True
        theirs, is_theirs = half[member], is_half_member[member]
        shared = (is_in[row[:, None], theirs] & is_theirs).sum(axis=1)
        is_in[row, member] = False
        is_added = is_theirs & (3 * shared > 2 * is_theirs.sum(axis=1))[:, None]
        added, column = np.nonzero(is_added)
        rows = np.concatenate([row, row[added]])
        keys = np.unique(rows * num_rows + np.concatenate([member, theirs[added, column]]))
        rows, columns = np.divmod(keys, num_rows)
        stop = min(start + len(is_in), num_rows)
        distances = _distances(start + rows, columns, neighbours, pairs)
        parts.append(_weigh(rows, columns, distances, neighbours.farthest[start:stop]))
    return SparseRows.joined(parts)


def _distances(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    neighbours: Neighbours,
    pairs: PairDistances,
) -> NDArray[np.float32]:
    distances = np.empty(len(rows), dtype=np.float32)
    # A member that is no neighbour often has the row among its own.
    missing = np.arange(len(rows))
    for one, other in ((rows, columns), (columns, rows)):
        is_found = neighbours.columns[one[missing]] == other[missing, None]
        found, place = np.nonzero(is_found)
        distances[missing[found]] = neighbours.distances[one[missing[found]], place]
        missing = missing[~is_found.any(axis=1)]
    distances[missing] = pairs(rows[missing], columns[missing])
    return distances


def _weigh(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    distances: NDArray[np.float32],
    farthest: NDArray[np.float32],
) -> SparseRows:
    weights = np.exp(-np.square(relative(distances, farthest[rows])))
    sums = np.bincount(rows, weights=weights, minlength=len(farthest))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(farthest)))])
    values = (weights / sums[rows]).astype(np.float32)
    return SparseRows(starts, columns.astype(np.int32), values)


def relative(distances: NDArray[np.float32], farthest: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide distances by the largest of their row; 0 where all of a row are 0."""
    tiny = np.finfo(np.float32).tiny
    return np.divide(distances, np.maximum(farthest, tiny), dtype=np.float32)
