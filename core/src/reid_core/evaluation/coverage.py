"""Which queries can be evaluated at all: known from the labels, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.matches import MatchFinder
from reid_core.evaluation.plan import ROWS, label_searches
from reid_core.evaluation.protocols import Protocol


@dataclass(frozen=True)
class MatchCoverage:
    """How many queries have a valid match, and why the others have none.

    Args:
        num_queries: All queries.
        num_valid: Queries with a valid match.
        num_absent: Queries whose identity is not in the gallery.
        num_excluded: Queries whose matches the protocol all leaves out.
        protocol: The protocol's name.
        protocol_description: Its rule in one line.
        num_unknown: Queries without a valid match that the protocol measures as unknown (open
            set); they are in none of the two counts before.
        pools: Whether query and gallery are one pool.
    """

    num_queries: int
    num_valid: int
    num_absent: int
    num_excluded: int
    protocol: str
    protocol_description: str
    num_unknown: int = 0
    pools: bool = False

    @property
    def num_skipped(self) -> int:
        """Queries without a valid match that are no part of the measurement."""
        return self.num_absent + self.num_excluded

    def require_valid(self) -> None:
        """Refuse an evaluation in which no query has a match.

        Raises:
            DataError: No query has a valid match; the message counts the reasons.
        """
        if self.num_valid:
            return
        advice = []
        if self.num_absent:
            advice.append(
                "add a second image of identities: each has one alone"
                if self.pools
                else "check that query and gallery hold the same identities under the same pids"
            )
        if self.num_excluded:
            without = "leave_one_out" if self.pools else "no_camera"
            advice.append(
                "check that camids tell the cameras apart; if the data has one camera or none, "
                f"turn the camera filter off with evaluate.protocol={without}"
            )
        if self.num_unknown:
            advice.append("add images of some of the queries' identities to the gallery")
        unknown = f", {self.num_unknown} are unknown to the gallery" if self.num_unknown else ""
        raise DataError(
            f"0 of {self.num_queries} queries have a valid match, so there is nothing to measure "
            f"and all figures are undefined: {self.num_absent} have an identity that is not in the "
            f"gallery, {self.num_excluded} have only matches that protocol {self.protocol} leaves "
            f"out ({self.protocol_description}){unknown}. "
            f"What to do: {'; '.join(advice) or 'pass queries'}."
        )


def match_coverage(query: Labels, gallery: Labels, *, protocol: Protocol) -> MatchCoverage:
    """Count the queries that can be evaluated, from labels alone.

    Args:
        query: Labels of the queries.
        gallery: Labels of the gallery.
        protocol: Which gallery entries count for a query.

    Returns:
        The counts, over all trials: a query is valid if it is in one of them.

    Raises:
        DataError: The labels lack a column that the protocol reads.
        PluginError: The protocol answers wrongly.
    """
    num_rows = len(query) + len(gallery)
    best = np.zeros(num_rows, dtype=np.int64)
    is_asked, is_present = np.zeros(num_rows, dtype=bool), np.zeros(num_rows, dtype=bool)
    for asked, searched in label_searches(query, gallery, protocol):
        rows = np.asarray(asked.columns[ROWS], dtype=np.int64)
        num_matches = protocol.count_matches(asked, searched)
        if num_matches is None:
            num_matches = count_pairs(asked, searched, protocol)
        best[rows] = np.maximum(best[rows], num_matches)
        is_asked[rows] = True
        is_present[rows] |= _is_present(asked, searched)
    return _coverage(best[is_asked], is_present[is_asked], protocol)


def count_pairs(query: Labels, gallery: Labels, protocol: Protocol) -> NDArray[np.int64]:
    """Count the valid matches of each query, pair by pair, in blocks.

    Args:
        query: Labels of the queries.
        gallery: Labels of the gallery.
        protocol: Which gallery entries count for a query.

    Returns:
        (Q,) int64.
    """
    finder = MatchFinder(gallery, protocol=protocol)
    num_matches = [
        len(matches)
        for start, stop in block_bounds(len(query), len(gallery))
        for matches in finder.valid(query.block(start, stop))[1]
    ]
    return np.array(num_matches, dtype=np.int64)


def coverage_of(
    num_matches: NDArray[np.int64], query: Labels, gallery: Labels, protocol: Protocol
) -> MatchCoverage:
    """Sort the queries without a match by reason.

    Args:
        num_matches: (Q,) int64 valid matches a query.
        query: Labels of the queries.
        gallery: Labels of the gallery.
        protocol: The protocol that ``num_matches`` was counted by.

    Returns:
        The counts.
    """
    return _coverage(num_matches, _is_present(query, gallery), protocol)


def _is_present(query: Labels, gallery: Labels) -> NDArray[np.bool_]:
    """Say which queries have their identity in the gallery on a row other than their own."""
    pids, counts = np.unique(gallery.pids, return_counts=True)
    places = np.searchsorted(pids, query.pids).clip(max=max(0, len(pids) - 1))
    if not len(pids):
        return np.zeros(len(query), dtype=bool)
    found = np.where(pids[places] == query.pids, counts[places], 0)
    if ROWS in query.columns and ROWS in gallery.columns:
        found = found - np.isin(query.columns[ROWS], gallery.columns[ROWS])
    return np.asarray(found > 0)


def _coverage(
    num_matches: NDArray[np.int64], is_present: NDArray[np.bool_], protocol: Protocol
) -> MatchCoverage:
    is_without = num_matches == 0
    num_without = int(np.count_nonzero(is_without))
    num_absent = int(np.count_nonzero(is_without & ~is_present))
    counts = (0, 0, num_without)
    if not protocol.keeps_unmatched:
        counts = (num_absent, num_without - num_absent, 0)
    return MatchCoverage(
        num_queries=len(num_matches),
        num_valid=len(num_matches) - num_without,
        num_absent=counts[0],
        num_excluded=counts[1],
        protocol=protocol.name,
        protocol_description=protocol.description,
        num_unknown=counts[2],
        pools=protocol.pools,
    )
