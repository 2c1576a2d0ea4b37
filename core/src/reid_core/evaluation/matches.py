"""Where the matches of each query stand among the gallery entries that count for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError, PluginError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols import Protocol

#: Distances, in whichever precision they were made.
Distances = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MatchRanks:
    """Places of all valid matches of a block of queries.

    Matches are sorted by query and then by distance. The rank of a match is ``before + 1`` where
    it is tied with nothing; entries at one distance share the ranks ``before + 1`` to
    ``before + tied``.

    Args:
        query: (M,) int64 row of the query in its block.
        before: (M,) int64 entries that count and are nearer than the match.
        tied: (M,) int64 entries that count and are just as near, the match itself included.
        num_matches: (B,) int64 valid matches a query.
        num_candidates: (B,) int64 gallery entries that count for a query.
    """

    query: NDArray[np.int64]
    before: NDArray[np.int64]
    tied: NDArray[np.int64]
    num_matches: NDArray[np.int64]
    num_candidates: NDArray[np.int64]


class MatchFinder:
    """Finds and ranks the valid matches of queries in one gallery.

    Only entries that are no farther than a query's last match can change its figures. So there is
    no full sort: what is farther is dropped by one comparison, which for a trained model leaves a
    small part of the gallery.

    Args:
        gallery: Labels of the G gallery entries.
        protocol: Which entries count for a query.
    """

    def __init__(self, gallery: Labels, *, protocol: Protocol) -> None:
        self._gallery = gallery
        self._protocol = protocol
        self._by_pid = np.argsort(gallery.pids, kind="stable")
        self._sorted_pids = gallery.pids[self._by_pid]

    def valid(self, query: Labels) -> tuple[NDArray[np.bool_], list[NDArray[np.intp]]]:
        """Find what counts for a block of queries, and what of it matches.

        Args:
            query: Labels of B queries.

        Returns:
            (B, G) bool, the entries that count; and a query's valid matches, as gallery rows.

        Raises:
            PluginError: The protocol's answer is not a (B, G) array of bool.
        """
        excluded = self._protocol.excluded(query, self._gallery)
        expected = (len(query), len(self._gallery))
        if excluded.shape != expected or excluded.dtype != np.bool_:
            raise PluginError(
                f"protocol {self._protocol.name}: excluded() returned {excluded.shape} "
                f"{excluded.dtype}; expected {expected} bool, True where an entry is left out"
            )
        allowed = np.logical_not(excluded, out=excluded)
        starts = np.searchsorted(self._sorted_pids, query.pids, side="left")
        stops = np.searchsorted(self._sorted_pids, query.pids, side="right")
        matches = []
        for row, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            same_pid = self._by_pid[start:stop]
            matches.append(same_pid[allowed[row, same_pid]])
        return allowed, matches

    def rank(self, distances: Distances, query: Labels) -> MatchRanks:
        """Rank the valid matches of a block of queries.

        Args:
            distances: (B, G) float32 or float64, finite.
            query: Labels of the B queries.

        Returns:
            The places of the matches.

        Raises:
            DataError: A distance is not finite.
            PluginError: The protocol's answer is not a (B, G) array of bool.
        """
        _check_finite(distances)
        allowed, matches = self.valid(query)
        before: list[NDArray[np.int64]] = []
        upto: list[NDArray[np.int64]] = []
        for row, columns in enumerate(matches):
            if columns.size:
                nearer, as_near = _rank_row(distances[row], allowed[row], columns)
                before.append(nearer)
                upto.append(as_near)
        num_matches = np.array([len(columns) for columns in matches], dtype=np.int64)
        flat_before = _concatenate(before)
        return MatchRanks(
            query=np.repeat(np.arange(len(query)), num_matches),
            before=flat_before,
            tied=_concatenate(upto) - flat_before,
            num_matches=num_matches,
            num_candidates=np.array([np.count_nonzero(row) for row in allowed], dtype=np.int64),
        )


def join(blocks: list[MatchRanks]) -> MatchRanks:
    """Put blocks of queries after each other, in the order given."""
    sizes = [len(block.num_matches) for block in blocks]
    starts = np.cumsum([0, *sizes])
    return MatchRanks(
        query=_concatenate([b.query + start for b, start in zip(blocks, starts, strict=False)]),
        before=_concatenate([block.before for block in blocks]),
        tied=_concatenate([block.tied for block in blocks]),
        num_matches=_concatenate([block.num_matches for block in blocks]),
        num_candidates=_concatenate([block.num_candidates for block in blocks]),
    )


def _rank_row(
    distances: Distances, allowed: NDArray[np.bool_], matches: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    matched = np.sort(distances[matches])
    near = distances <= matched[-1]
    near &= allowed
    candidates = distances[near]
    candidates.sort()
    return candidates.searchsorted(matched, "left"), candidates.searchsorted(matched, "right")


def _check_finite(distances: Distances) -> None:
    # One sum is far cheaper than a mask of the block; it is not finite when one distance is not,
    # or when finite ones overflow, which the mask then tells apart.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(distances.sum()):
            return
    count = int(distances.size - np.count_nonzero(np.isfinite(distances)))
    if count:
        raise DataError(
            f"{count} of {distances.size} distances are not finite (NaN or infinity); "
            "ranks would be meaningless: check what made them"
        )


def _concatenate(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
