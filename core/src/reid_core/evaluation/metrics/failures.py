"""Why the first answer to a query was wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.detail import Failure
from reid_core.evaluation.metrics.pair_blocks import PairBlock, pair_blocks
from reid_core.evaluation.search import Search

#: Up to this rank a match was nearly first.
NEAR_MISS_RANK = 5
#: Up to this rank somebody who looks through the answers may find it.
FOUND_RANK = 50
#: Rows that a reason names as examples.
NUM_EXAMPLES = 5

#: Reasons and their explanations; the first that holds is the one that counts.
REASONS = {
    "tied": "A right and a wrong answer stand first at the same distance.",
    "distractor": "The first answer shows an identity that no query has.",
    "single_match": "The gallery holds one match only, and another identity stands before it.",
    "near_miss": f"Another identity stands first; a match is among the first {NEAR_MISS_RANK}.",
    "found_late": f"No match is among the first {NEAR_MISS_RANK}; one is among the first "
    f"{FOUND_RANK}.",
    "lost": f"No match is among the first {FOUND_RANK}.",
}


class FailureCount:
    """Queries whose first answer is wrong, by the first reason that holds.

    Args:
        query_pids: Identities of all queries, which tell distractors.
    """

    def __init__(self, query_pids: NDArray[np.int64]) -> None:
        self._pids = np.unique(query_pids)
        self._found: dict[str, list[tuple[int, int]]] = {reason: [] for reason in REASONS}

    def add(self, block: PairBlock) -> None:
        """Take some queries; the block must hold ranks."""
        ranks = block.ranks
        assert ranks is not None
        is_known = np.isin(block.gallery.pids, self._pids)
        rows = np.flatnonzero(ranks.num_matches)
        first = (np.cumsum(ranks.num_matches) - ranks.num_matches)[rows]
        for row, at in zip(rows.tolist(), first.tolist(), strict=True):
            before = int(ranks.before[at])
            at_once = int(np.count_nonzero(ranks.before[at : at + ranks.num_matches[row]] == 0))
            if before == 0 and ranks.tied[at] == at_once:
                continue
            reason = self._reason(block, row, before, is_known)
            self._found[reason].append((-before, int(block.rows[row])))

    def _reason(self, block: PairBlock, row: int, before: int, is_known: NDArray[np.bool_]) -> str:
        assert block.ranks is not None
        if before == 0:
            return "tied"
        distances, allowed = block.distances[row], block.allowed[row]
        nearest = np.min(distances, where=allowed, initial=np.inf)
        if not is_known[allowed & (distances == nearest)].any():
            return "distractor"
        if block.ranks.num_matches[row] == 1:
            return "single_match"
        if before < NEAR_MISS_RANK:
            return "near_miss"
        return "found_late" if before < FOUND_RANK else "lost"

    def failures(self) -> list[Failure]:
        """Return the reasons that occurred, most frequent first, with the worst cases of each."""
        found = [
            Failure(
                reason=reason,
                explanation=REASONS[reason],
                count=len(cases),
                examples=list(dict.fromkeys(row for _, row in sorted(cases)))[:NUM_EXAMPLES],
            )
            for reason, cases in self._found.items()
            if cases
        ]
        return sorted(found, key=lambda failure: (-failure.count, failure.reason))


def failures(search: Search) -> list[Failure]:
    """Sort the queries whose first answer is wrong by reason.

    Queries without a match are left out. ``examples`` are rows of the test set, those first whose
    nearest match stands farthest down.

    Args:
        search: Labels, distances and the rule.

    Returns:
        Reasons that exclude each other, most frequent first.

    Source: original.
    """
    count = FailureCount(search.query.pids)
    for block in pair_blocks(search, ranked=True):
        count.add(block)
    return count.failures()
