"""The nearest gallery entries of queries in a search, whatever its distances were made by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import UsageError
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.matches import MatchFinder
from reid_core.evaluation.ranking import nearest_of
from reid_core.evaluation.search import ROWS, Search


@dataclass(frozen=True, eq=False)
class RankList:
    """The nearest gallery entries that count for one query, nearest first.

    Args:
        query_row: Row of the query in the test set.
        gallery_rows: (K,) int64 rows of the entries in the test set.
        distances: (K,) distances, in the search's own precision.
        is_match: (K,) bool, whether an entry has the query's identity.
    """

    query_row: int
    gallery_rows: NDArray[np.int64]
    distances: NDArray[np.float32] | NDArray[np.float64]
    is_match: NDArray[np.bool_]


def rank_lists(
    search: Search, *, k: int, query_rows: Sequence[int] | None = None
) -> Iterator[RankList]:
    """Rank the gallery for the queries of a search, a block of queries at a time.

    Entries at one distance stand in the order of their rows. Where fewer than k count for a query,
    its list is shorter.

    Args:
        search: Labels, distances and the rule.
        k: Entries a query at most, at least 1.
        query_rows: Rows in the test set of the queries that are wanted; None is all of them. Rows
            that are no query of this search are passed over.

    Yields:
        A list a query, in the order of the queries.

    Raises:
        UsageError: ``k`` is below 1.
    """
    if k < 1:
        raise UsageError(f"topk is {k}; expected the gallery entries a query, at least 1")
    wanted = None if query_rows is None else set(query_rows)
    numbers = np.asarray(search.query.columns[ROWS], dtype=np.int64)
    gallery_numbers = np.asarray(search.gallery.columns[ROWS], dtype=np.int64)
    finder = MatchFinder(search.gallery, protocol=search.protocol)
    for start, stop in block_bounds(len(search.query), len(search.gallery)):
        chosen = [
            row for row in range(start, stop) if wanted is None or int(numbers[row]) in wanted
        ]
        if not chosen:
            continue
        block = search.distances(start, stop)
        labels = search.query.block(start, stop)
        allowed, _ = finder.valid(labels)
        for row in chosen:
            values = block[row - start]
            near = nearest_of(values, np.flatnonzero(allowed[row - start]), k)
            yield RankList(
                query_row=int(numbers[row]),
                gallery_rows=gallery_numbers[near],
                distances=values[near],
                is_match=search.gallery.pids[near] == labels.pids[row - start],
            )
