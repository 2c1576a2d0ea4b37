"""The ranked gallery of every query, as a table or as JSON, for other tools."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from reid_core.checkpoint.atomic import write_atomically
from reid_core.engine.evaluation.evaluated_set import EvaluatedSet
from reid_core.errors import DataError, UsageError
from reid_core.evaluation.rank_list import rank_lists

#: Endings of the files that can be written.
ENDINGS = (".csv", ".json")

#: The order of entries without rerankers.
PLAIN_ORDER = "plain"

_COLUMNS = (
    "dataset",
    "order",
    "trial",
    "query",
    "query_pid",
    "query_camid",
    "rank",
    "file",
    "pid",
    "camid",
    "distance",
    "similarity",
    "match",
)


def write_rank_table(path: Path, sets: Sequence[EvaluatedSet], *, topk: int) -> None:
    """Write a row for each query and each of its nearest gallery entries.

    With rerankers the order is theirs, and the column ``order`` says so. ``similarity`` is the
    cosine, from -1 to 1, where the distance is the plain cosine distance, and otherwise empty.
    Images without a name are called by their row.

    Args:
        path: Ends in ``.csv`` or ``.json``; an old file is replaced at once.
        sets: The test sets.
        topk: Entries a query; of a smaller gallery there are fewer.

    Raises:
        UsageError: The file has another ending, or ``topk`` is below 1.
        DataError: It cannot be written.
    """
    require_ending(path)
    rows = (row for each in sets for row in _rows(each, topk))
    parts = _csv(rows) if path.suffix.lower() == ".csv" else _json(rows)

    def write(file: IO[bytes]) -> None:
        # Row by row: the table of a million queries is larger than their embeddings.
        for part in parts:
            file.write(part.encode("utf-8", "replace"))

    try:
        write_atomically(path, write)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


def require_ending(path: Path) -> None:
    """Check that a table of that name can be written.

    Raises:
        UsageError: It has another ending.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"--save-ranks {path}: expected a name that ends in {' or '.join(ENDINGS)}"
        )


def _rows(evaluated: EvaluatedSet, topk: int) -> Iterator[dict[str, object]]:
    is_reranked = bool(evaluated.rerankers)
    for search in evaluated.searches(is_reranked=is_reranked):
        order = ", ".join(search.postprocessing) or PLAIN_ORDER
        is_cosine = search.distance == "cosine" and not search.postprocessing
        for ranked in rank_lists(search, k=topk):
            query = evaluated.embeddings.describe(ranked.query_row)
            for place, row in enumerate(ranked.gallery_rows.tolist()):
                entry = evaluated.embeddings.describe(row)
                distance = float(ranked.distances[place])
                yield {
                    "dataset": evaluated.name,
                    "order": order,
                    "trial": search.trial,
                    "query": query["path"] or ranked.query_row,
                    "query_pid": query["pid"],
                    "query_camid": query["camid"],
                    "rank": place + 1,
                    "file": entry["path"] or row,
                    "pid": entry["pid"],
                    "camid": entry["camid"],
                    "distance": distance,
                    "similarity": max(-1.0, min(1.0, 1.0 - distance)) if is_cosine else None,
                    "match": bool(ranked.is_match[place]),
                }


def _csv(rows: Iterator[dict[str, object]]) -> Iterator[str]:
    yield _csv_row(dict(zip(_COLUMNS, _COLUMNS, strict=True)))
    for row in rows:
        yield _csv_row({**row, "match": int(bool(row["match"]))})


def _csv_row(row: Mapping[str, object]) -> str:
    text = io.StringIO(newline="")
    csv.DictWriter(text, _COLUMNS, lineterminator="\n").writerow(row)
    return text.getvalue()


def _json(rows: Iterator[dict[str, object]]) -> Iterator[str]:
    yield f'{{"schema": 1, "columns": {json.dumps(_COLUMNS)}, "rows": ['
    for place, row in enumerate(rows):
        yield ("," if place else "") + "\n" + json.dumps(row, ensure_ascii=False)
    yield "\n]}\n"
