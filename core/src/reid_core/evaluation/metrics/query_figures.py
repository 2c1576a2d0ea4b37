"""Every figure of ranking, query by query: what means, intervals and tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.matches import MatchRanks, join
from reid_core.evaluation.metrics.further_metrics import (
    chance_precision,
    found_within,
    matches_within,
    trapezoid_precision,
)
from reid_core.evaluation.metrics.pair_blocks import pair_blocks
from reid_core.evaluation.metrics.rank_metrics import (
    average_precision,
    group_ties,
    inverse_negative_penalty,
)
from reid_core.evaluation.search import Search

#: k of ``rank…``: the CMC, as papers report it.
CMC_RANKS = (1, 5, 10, 20, 50)
#: k of ``recall@…``: the CMC again, at the places and by the name of metric learning.
RECALL_RANKS = (1, 2, 4, 8, 10, 100)
#: k of ``match_recall@…``.
MATCH_RANKS = (1, 5, 10, 50, 100)


@dataclass(frozen=True, eq=False)
class QueryFigures:
    """Figures of the queries of one search, or means over several.

    Args:
        values: (Q,) float64 by name; NaN where a query has no match. See ``docs/metrics.md``.
        num_matches: (Q,) int64 valid matches a query.
        num_candidates: (Q,) int64 gallery entries that counted for a query.
    """

    values: dict[str, NDArray[np.float64]]
    num_matches: NDArray[np.int64]
    num_candidates: NDArray[np.int64]

    def means(self) -> dict[str, float]:
        """Return the mean of each figure over the queries with a match."""
        is_valid = self.num_matches > 0
        return {name: float(column[is_valid].mean()) for name, column in self.values.items()}


def query_figures(search: Search) -> QueryFigures:
    """Measure every figure of ranking on a search, query by query.

    Args:
        search: Labels, distances and the rule.

    Returns:
        The figures in the order of the queries.

    Raises:
        DataError: A distance is not finite.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    blocks = pair_blocks(search, ranked=True)
    return figures_of([block.ranks for block in blocks if block.ranks is not None])


def figures_of(blocks: Sequence[MatchRanks]) -> QueryFigures:
    """Make the figures from the places of the matches.

    Args:
        blocks: Places in the order of the queries.

    Returns:
        The figures of all of the queries.
    """
    ranks = join(list(blocks))
    matches, candidates = ranks.num_matches, ranks.num_candidates
    groups = group_ties(ranks)
    depths = sorted({*CMC_RANKS, *RECALL_RANKS})
    found = dict(zip(depths, found_within(groups, depths, matches).T, strict=True))
    values = {
        "mAP": average_precision(groups, matches),
        "mINP": inverse_negative_penalty(groups, matches),
        "mAP_trapezoid": trapezoid_precision(groups, matches),
        "r_precision": matches_within(groups, matches, matches),
    }
    values |= {f"rank{k}": found[k] for k in CMC_RANKS}
    values |= {f"recall@{k}": found[k] for k in RECALL_RANKS}
    for k in MATCH_RANKS:
        values[f"match_recall@{k}"] = matches_within(groups, np.full_like(matches, k), matches)
    values["chance_mAP"] = chance_precision(matches, candidates)
    chance = np.full(len(matches), np.nan)
    values["chance_rank1"] = np.divide(matches, candidates, out=chance, where=matches > 0)
    return QueryFigures(values, matches, candidates)
