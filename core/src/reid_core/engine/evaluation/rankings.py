"""Ranked galleries of a few queries of a test set, as ``ranks.json`` holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation import RetrievalResult, Search, evaluate_search
from reid_core.evaluation.plan import ROWS
from reid_core.evaluation.rank_list import RankList, rank_lists

#: Queries of each selection (worst, random, best) and gallery entries of each in the report.
RANKED_QUERIES = 3
RANKED_RESULTS = 10


def ranked_galleries(
    search: Search,
    result: RetrievalResult,
    *,
    dataset: str,
    describe: Callable[[int], Mapping[str, object]],
    queries: int = RANKED_QUERIES,
    results: int = RANKED_RESULTS,
    seed: int = 0,
    chosen: Sequence[int] = (),
) -> list[dict[str, object]]:
    """Rank the gallery for a few queries: those asked for, the worst, some at random, the best.

    Args:
        search: What was measured; the first trial where a protocol draws.
        result: Its figures, over all trials.
        dataset: What the test set is called.
        describe: What is known of a row of the test set, queries before gallery; of a group of
            images, its first.
        queries: Queries of each selection.
        results: Gallery entries a query.
        seed: Seed of the random selection.
        chosen: Rows in the test set of queries that were asked for; others are passed over.

    Returns:
        Plain records: of each query its selection, AP, protocol, distance, what was done before the
        distances were ranked, and its gallery, nearest first.
    """
    ap = _ap_of(search, result)
    numbers = np.asarray(search.query.columns[ROWS], dtype=np.int64)
    asked = [place for row in chosen for place in np.flatnonzero(numbers == row).tolist()]
    selected = [("chosen", place) for place in asked]
    selected += [one for one in _choose_queries(ap, queries, seed) if one[1] not in asked]
    wanted = [int(numbers[place]) for _, place in selected]
    lists = {one.query_row: one for one in rank_lists(search, k=results, query_rows=wanted)}
    return [
        {
            "dataset": dataset,
            "selection": selection,
            "query": dict(describe(row)),
            "ap": None if np.isnan(ap[place]) else float(ap[place]),
            "protocol": result.protocol,
            "distance": result.distance,
            "postprocessing": list(result.postprocessing),
            "results": _entries(lists[row], describe),
        }
        for (selection, place), row in zip(selected, wanted, strict=True)
    ]


def _entries(
    ranked: RankList, describe: Callable[[int], Mapping[str, object]]
) -> list[dict[str, object]]:
    return [
        {**describe(int(row)), "distance": float(distance), "match": bool(is_match)}
        for row, distance, is_match in zip(
            ranked.gallery_rows, ranked.distances, ranked.is_match, strict=True
        )
    ]


def _ap_of(search: Search, result: RetrievalResult) -> NDArray[np.float64]:
    """Return the AP of each query of a search: where there are trials the result has means."""
    has_trials = result.num_trials > 1 or result.num_asked is not None
    return evaluate_search(search).ap if has_trials else result.ap


def _choose_queries(ap: NDArray[np.float64], count: int, seed: int) -> list[tuple[str, int]]:
    """Return (selection, query): worst first, then random, then best; none twice."""
    valid = np.flatnonzero(~np.isnan(ap))
    ordered = valid[np.argsort(ap[valid], kind="stable")].tolist()
    worst = ordered[:count]
    best = [row for row in reversed(ordered) if row not in worst][:count]
    rest = [row for row in ordered if row not in worst and row not in best]
    picked = np.random.default_rng(seed).permutation(rest)[:count].astype(int).tolist()
    return (
        [("worst", row) for row in worst]
        + [("random", row) for row in picked]
        + [("best", row) for row in best]
    )
