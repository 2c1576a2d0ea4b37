"""Jaccard distances of weighted sets, from an inverted index of their members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.rerankers.sparse_rows import SparseRows, spans

#: Rows of the gallery in one part of the index; what is temporary is as large as a part.
PART_ROWS = 4096
#: Meetings of a member of a query's set with one of a gallery entry's that are held together.
MEETINGS = 2**20


@dataclass(frozen=True, eq=False)
class _Part:
    """Sets of the gallery rows from ``first``, by member: SparseRows of members."""

    first: int
    num_rows: int
    by_member: SparseRows


class JaccardIndex:
    """Jaccard distances of queries' sets to those of gallery entries.

    The distance is 1 - s / (2 - s), s the sum over all members of the smaller of the two weights.

    Args:
        sets: Weighted sets of N rows, Q queries and then the gallery; weights of a row sum to 1.
        near: (N, k) int32 nearest rows of each row; each set becomes the mean of those of its
            ``k2`` nearest rows.
        queries: (Q,) int64 rows that are searched for.
        first_gallery: Row from which on all are the gallery; it may hold queries too.
        k2: Sets that are averaged, itself among them; 1 averages nothing.
    """

    def __init__(
        self,
        sets: SparseRows,
        near: NDArray[np.int32],
        *,
        queries: NDArray[np.int64],
        first_gallery: int,
        k2: int,
    ) -> None:
        num_rows = len(near)
        self._num_gallery = num_rows - first_gallery
        # Of equal rows the nearest is the first, and not always the row itself.
        used = near[:, :k2] if k2 > 1 else np.arange(num_rows, dtype=near.dtype)[:, None]
        self._query = SparseRows.joined(
            averaged(sets, used[queries[start:stop]]) for start, stop in _bounds(0, len(queries))
        )
        self._parts = [
            _Part(
                start - first_gallery,
                stop - start,
                _by_column(averaged(sets, used[start:stop]), num_rows),
            )
            for start, stop in _bounds(first_gallery, num_rows)
        ]

    def distances(self, start: int, stop: int) -> NDArray[np.float32]:
        """Compute the distances of a block of queries to all of the gallery.

        Args:
            start: First query.
            stop: Query after the last.

        Returns:
            (B, G) float32 in [0, 1].
        """
        distances = np.empty((stop - start, self._num_gallery), dtype=np.float32)
        places, rows = self._query.entries_of(np.arange(start, stop))
        members, weights = self._query.columns[places], self._query.values[places]
        for part in self._parts:
            shared = _shared(part, members, weights, rows, stop - start)
            distances[:, part.first : part.first + part.num_rows] = 1 - shared / (2 - shared)
        # Rounding may take the sum of shared weights a little above 1.
        return np.maximum(distances, 0, out=distances)


def averaged(sets: SparseRows, near: NDArray[np.int32]) -> SparseRows:
    """Average the sets of some rows' neighbours.

    Args:
        sets: N weighted sets.
        near: (B, k) rows that each of B rows is made of.

    Returns:
        B weighted sets.
    """
    num_sets = len(sets.starts) - 1
    places, which = sets.entries_of(near.reshape(-1))
    keys = which // near.shape[1] * num_sets + sets.columns[places]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    values = sets.values[places[order]]
    sums = np.add.reduceat(values, first) if len(first) else values
    rows, columns = np.divmod(keys[first], num_sets)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(near)))])
    return SparseRows(starts, columns.astype(np.int32), (sums / near.shape[1]).astype(np.float32))


def _bounds(first: int, last: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last, PART_ROWS):
        yield start, min(start + PART_ROWS, last)


def _by_column(sets: SparseRows, num_columns: int) -> SparseRows:
    _, rows = sets.entries_of(np.arange(len(sets.starts) - 1))
    order = np.argsort(sets.columns, kind="stable")
    counts = np.bincount(sets.columns, minlength=num_columns)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return SparseRows(starts, rows[order].astype(np.int32), sets.values[order])


def _shared(
    part: _Part,
    members: NDArray[np.int32],
    weights: NDArray[np.float32],
    rows: NDArray[np.int64],
    num_rows: int,
) -> NDArray[np.float64]:
    index = part.by_member
    starts, stops = index.starts[members], index.starts[members + 1]
    total = np.zeros(num_rows * part.num_rows)
    for begin, end in _batches(stops - starts):
        places, which = spans(starts[begin:end], stops[begin:end])
        cells = rows[begin:end][which] * part.num_rows + index.columns[places]
        smaller = np.minimum(weights[begin:end][which], index.values[places])
        # A query's entries lie together, so the cells of a batch do too.
        low, high = int(rows[begin]), int(rows[end - 1]) + 1
        width = (high - low) * part.num_rows
        shift = low * part.num_rows
        total[shift : shift + width] += np.bincount(cells - shift, smaller, minlength=width)
    return total.reshape(num_rows, part.num_rows)


def _batches(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(lengths):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + MEETINGS, side="right")))
        yield begin, end
        begin = end
