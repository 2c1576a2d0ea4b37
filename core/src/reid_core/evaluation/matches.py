"""Where the matches of each query stand among the gallery entries that count for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.errors import DataError, PluginError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols import Protocol

#: Distances, in whichever precision they were made.
Distances = NDArray[np.float32] | NDArray[np.float64]
#: Entries nearer than each match, and those up to its distance: (m,) int64 each.
Places = tuple[NDArray[np.int64], NDArray[np.int64]]
#: How it is told which entries count: a mask of all, or the rows that do not.
Kind = TypeVar("Kind", NDArray[np.bool_], NDArray[np.intp])

#: A sort of n values takes as long as counting what is below that many thresholds, and up to them.
SORT_PASSES = 90
#: Values that are compared while a comparison is called.
CALL_VALUES = 12_000
#: Gallery entries from which rows are ranked on several threads. Two threads were measured at 1.5
#: times the speed of one with 82,161 entries, and at 0.8 times with 15,913.
THREADED_VALUES = 50_000
#: More threads than this wait for the interpreter.
MAX_THREADS = 4

_NO_PLACES: Places = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


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
    small part of the gallery. Where much is left, entries below each match are counted instead of
    sorted. Where the protocol says that it leaves out entries of the query's own identity alone,
    it is asked about these, and no mask of a whole block is made.

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
        allowed = self._allowed(query, self._gallery)
        of_pid = self._of_pid(query)
        return allowed, [rows[allowed[row, rows]] for row, rows in enumerate(of_pid)]

    def rank(self, distances: Distances, query: Labels) -> MatchRanks:
        """Rank the valid matches of a block of queries.

        Args:
            distances: (B, G) float32 or float64, finite.
            query: Labels of the B queries.

        Returns:
            The places of the matches.

        Raises:
            DataError: A distance is not finite.
            PluginError: The protocol's answer is not an array of bool of the right shape.
        """
        _check_finite(distances)
        if self._protocol.excludes_own_pid_only:
            rows, num_candidates = self._ranked_by_pid(distances, query)
        else:
            allowed, matches = self.valid(query)
            rows = _each_row(_rank_row, list(zip(distances, allowed, matches, strict=True)))
            num_candidates = np.array([np.count_nonzero(row) for row in allowed], dtype=np.int64)
        num_matches = np.array([len(before) for before, _ in rows], dtype=np.int64)
        before = _concatenate([before for before, _ in rows])
        return MatchRanks(
            query=np.repeat(np.arange(len(query)), num_matches),
            before=before,
            tied=_concatenate([upto for _, upto in rows]) - before,
            num_matches=num_matches,
            num_candidates=num_candidates,
        )

    def _ranked_by_pid(
        self, distances: Distances, query: Labels
    ) -> tuple[list[Places], NDArray[np.int64]]:
        is_ignored = self._protocol.ignored(self._gallery)
        if is_ignored.any():
            kept = np.flatnonzero(~is_ignored)
            finder = MatchFinder(self._gallery.take(kept), protocol=self._protocol)
            return finder._ranked_by_pid(distances[:, kept], query)
        of_pid = self._of_pid(query)
        asked, numbers = np.unique(_concatenate(of_pid), return_inverse=True)
        allowed = self._allowed(query, self._gallery.take(asked))
        sizes = np.array([len(rows) for rows in of_pid], dtype=np.int64)
        counts = allowed[np.repeat(np.arange(len(query)), sizes), numbers]
        masks = np.split(counts, np.cumsum(sizes)[:-1])
        rows = [
            (distance, same[~is_match], same[is_match])
            for distance, same, is_match in zip(distances, of_pid, masks, strict=False)
        ]
        num_candidates = [len(distance) - len(left_out) for distance, left_out, _ in rows]
        return _each_row(_rank_row_but, rows), np.array(num_candidates, dtype=np.int64)

    def _allowed(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        excluded = self._protocol.excluded(query, gallery)
        expected = (len(query), len(gallery))
        if excluded.shape != expected or excluded.dtype != np.bool_:
            raise PluginError(
                f"protocol {self._protocol.name}: excluded() returned {excluded.shape} "
                f"{excluded.dtype}; expected {expected} bool, True where an entry is left out"
            )
        return np.logical_not(excluded, out=excluded)

    def _of_pid(self, query: Labels) -> list[NDArray[np.intp]]:
        starts = np.searchsorted(self._sorted_pids, query.pids, side="left")
        stops = np.searchsorted(self._sorted_pids, query.pids, side="right")
        return [self._by_pid[start:stop] for start, stop in zip(starts, stops, strict=True)]


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


def _each_row(
    rank: Callable[[Distances, Kind, NDArray[np.intp]], Places],
    rows: Sequence[tuple[Distances, Kind, NDArray[np.intp]]],
) -> list[Places]:
    """Rank the matches of each query, on several threads where a row is long.

    NumPy compares and sorts without holding the interpreter; short rows would only wait for it.
    """
    threads = min(torch.get_num_threads(), MAX_THREADS)
    if threads < 2 or len(rows) < threads or len(rows[0][0]) < THREADED_VALUES:
        return [rank(*row) for row in rows]
    # One part a thread: handing over single rows was measured to cost more than it gains.
    parts = [rows[start::threads] for start in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        ranked = list(pool.map(lambda part: [rank(*row) for row in part], parts))
    return [ranked[row % threads][row // threads] for row in range(len(rows))]


def _rank_row(
    distances: Distances, allowed: NDArray[np.bool_], matches: NDArray[np.intp]
) -> Places:
    if not matches.size:
        return _NO_PLACES
    matched = distances[matches]
    matched.sort()
    near = distances <= matched[-1]
    near &= allowed
    return _places(distances[np.flatnonzero(near)], matched)


def _rank_row_but(
    distances: Distances, left_out: NDArray[np.intp], matches: NDArray[np.intp]
) -> Places:
    if not matches.size:
        return _NO_PLACES
    matched = distances[matches]
    matched.sort()
    near = distances <= matched[-1]
    # Copying costs as much as a few comparisons of the whole row.
    is_most = np.count_nonzero(near) > len(near) // 2
    before, upto = _places(distances if is_most else distances[np.flatnonzero(near)], matched)
    if left_out.size:
        not_counted = np.sort(distances[left_out])
        before -= not_counted.searchsorted(matched, "left")
        upto -= not_counted.searchsorted(matched, "right")
    return before, upto


def _places(values: Distances, matched: Distances) -> Places:
    """Count the values below each match, and those up to it."""
    if len(matched) * (len(values) + CALL_VALUES) < SORT_PASSES * len(values):
        before = [np.count_nonzero(values < match) for match in matched]
        upto = [np.count_nonzero(values <= match) for match in matched]
        return np.array(before, dtype=np.int64), np.array(upto, dtype=np.int64)
    ordered = np.sort(values)
    return ordered.searchsorted(matched, "left"), ordered.searchsorted(matched, "right")


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


def _concatenate(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
