"""The pairs of a search, a block of queries at a time: what is counted, and what of it matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.distances.blocks import MIN_BLOCK_SIZE, block_bounds
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.matches import Distances, MatchFinder, MatchRanks
from reid_core.evaluation.search import ROWS, Search

#: Pairs in a block where the caller names no block size: 8 MB of float32, of which a copy is
#: sorted. Larger blocks are not faster.
PAIR_VALUES = 2**21


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Some queries of a search, against all of its gallery.

    Args:
        query: Labels of the B queries.
        gallery: Labels of the G gallery entries.
        distances: (B, G) float32 or float64.
        allowed: (B, G) bool, the entries that count.
        matches: The valid matches of each query, as gallery rows.
        ranks: Where they stand; None where it was not asked for.
    """

    query: Labels
    gallery: Labels
    distances: Distances
    allowed: NDArray[np.bool_]
    matches: list[NDArray[np.intp]]
    ranks: MatchRanks | None

    @property
    def rows(self) -> NDArray[np.int64]:
        """The queries' rows in the test set, (B,) int64."""
        return np.asarray(self.query.columns[ROWS], dtype=np.int64)

    def same(self) -> Distances:
        """Return the distances of all pairs of one identity, in no particular order."""
        parts = [row[columns] for row, columns in zip(self.distances, self.matches, strict=True)]
        return np.concatenate([np.empty(0, dtype=self.distances.dtype), *parts])

    def different(self) -> Distances:
        """Return the distances of all pairs of two identities, sorted."""
        is_different = self.allowed.copy()
        for row, columns in enumerate(self.matches):
            is_different[row, columns] = False
        values = self.distances[is_different]
        values.sort()
        return values


def pair_blocks(
    search: Search, *, ranked: bool = False, block_size: int | None = None
) -> Iterator[PairBlock]:
    """Go through a search block by block.

    Args:
        search: Labels, distances and the rule.
        ranked: Whether the places of the matches are wanted.
        block_size: Queries a block; None chooses one. It changes no figure.

    Yields:
        The blocks in the order of the queries; memory is that of one.

    Raises:
        DataError: A distance is not finite (checked where ranks are wanted).
        UsageError: ``block_size`` is below 1.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    finder = MatchFinder(search.gallery, protocol=search.protocol)
    num_gallery = len(search.gallery)
    if block_size is None:
        block_size = max(MIN_BLOCK_SIZE, PAIR_VALUES // max(1, num_gallery))
    for start, stop in block_bounds(len(search.query), num_gallery, block_size):
        # Nothing of a block is held here while the next one is made.
        yield _block(search, finder, start, stop, ranked)


def _block(search: Search, finder: MatchFinder, start: int, stop: int, ranked: bool) -> PairBlock:
    query = search.query.block(start, stop)
    distances = search.distances(start, stop)
    allowed, matches = finder.valid(query)
    ranks = finder.rank(distances, query) if ranked else None
    return PairBlock(query, search.gallery, distances, allowed, matches, ranks)
