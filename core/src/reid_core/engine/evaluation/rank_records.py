"""Ranked galleries of an evaluated set, for ``ranks.json``, and how its queries are named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reid_core.engine.evaluation.evaluated_set import EvaluatedSet
from reid_core.engine.evaluation.rankings import ranked_galleries
from reid_core.errors import UsageError
from reid_core.evaluation.search import ROWS

#: Examples of names that a message shows.
_SHOWN = 3


def rank_records(
    evaluated: EvaluatedSet, *, chosen: Sequence[int] = (), seed: int = 0
) -> list[dict[str, object]]:
    """Rank the gallery for a few queries, in the plain order and in that after the rerankers.

    Args:
        evaluated: The test set.
        chosen: Rows of queries that were asked for; others are chosen by their average precision.
        seed: Seed of the random selection.

    Returns:
        Plain records.
    """
    records = []
    for is_reranked, result in zip((False, True), evaluated.results, strict=False):
        records += ranked_galleries(
            next(evaluated.searches(is_reranked=is_reranked)),
            result,
            dataset=evaluated.name,
            describe=evaluated.describe,
            seed=seed,
            chosen=chosen,
        )
    return records


def query_rows(evaluated: EvaluatedSet, wanted: str) -> list[int]:
    """Find a query by its row or by the name of its image.

    Args:
        evaluated: The test set.
        wanted: A row from 0, a path, or the last part of one.

    Returns:
        Its row; empty where the set has no such query.

    Raises:
        UsageError: Several images end in that name.
    """
    search = next(evaluated.searches())
    rows = np.asarray(search.query.columns[ROWS], dtype=np.int64).tolist()
    if wanted.isdecimal():
        return [int(wanted)] if int(wanted) in rows else []
    paths = {row: str(evaluated.embeddings.describe(row)["path"]) for row in rows}
    found = [
        row
        for row, path in paths.items()
        if path == wanted or path.replace("\\", "/").endswith(f"/{wanted}")
    ]
    if len(found) > 1:
        shown = ", ".join(paths[row] for row in found[:_SHOWN])
        raise UsageError(
            f"--query {wanted}: {len(found)} queries of {evaluated.name} are called so, for "
            f"example {shown}; give more of the path, or a row"
        )
    return found
