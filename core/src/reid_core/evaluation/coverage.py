"""Which queries can be evaluated at all: known from the labels, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.blocks import block_bounds
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.matches import MatchFinder
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
    """

    num_queries: int
    num_valid: int
    num_absent: int
    num_excluded: int
    protocol: str
    protocol_description: str

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
                "check that query and gallery hold the same identities under the same pids"
            )
        if self.num_excluded:
            advice.append(
                "check that camids tell the cameras apart; if the data has one camera or none, "
                "turn the camera filter off with evaluate.protocol=no_camera"
            )
        raise DataError(
            f"0 of {self.num_queries} queries have a valid match, so there is nothing to measure: "
            f"{self.num_absent} have an identity that is not in the gallery, {self.num_excluded} "
            f"have only matches that protocol {self.protocol} leaves out "
            f"({self.protocol_description}). What to do: {'; '.join(advice) or 'pass queries'}."
        )


def match_coverage(query: Labels, gallery: Labels, *, protocol: Protocol) -> MatchCoverage:
    """Count the queries that can be evaluated, from labels alone.

    Args:
        query: Labels of the queries.
        gallery: Labels of the gallery.
        protocol: Which gallery entries count for a query.

    Returns:
        The counts.
    """
    num_matches = protocol.count_matches(query, gallery)
    if num_matches is None:
        num_matches = count_pairs(query, gallery, protocol)
    return coverage_of(num_matches, query, gallery, protocol)


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
    is_skipped = num_matches == 0
    num_absent = int(np.count_nonzero(is_skipped & ~np.isin(query.pids, gallery.pids)))
    num_skipped = int(np.count_nonzero(is_skipped))
    return MatchCoverage(
        num_queries=len(query),
        num_valid=len(query) - num_skipped,
        num_absent=num_absent,
        num_excluded=num_skipped - num_absent,
        protocol=protocol.name,
        protocol_description=protocol.description,
    )
