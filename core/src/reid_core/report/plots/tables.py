"""Details of an evaluation as rows of CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from reid_core.report.figure_sets import FigureSet, variant_name

Cell: TypeAlias = str | int | float | None
#: Header, then rows.
Table: TypeAlias = list[tuple[Cell, ...]]


def tables_of(figures: FigureSet) -> dict[str, Table]:
    """Return a table for each kind of plot and figure, by name; one without rows is left out.

    The first column says which figures a row belongs to: ``plain``, or after what. Nothing is
    thinned: what the page leaves out for want of room is here.
    """
    made = {
        "figures": _table("metric value low high level", _figures(figures)),
        "cmc": _table("rank share", _cmc(figures)),
        "roc": _table("fpr tpr threshold", _roc(figures)),
        "distances": _table("low high same different", _distances(figures)),
        "cameras": _table("query_camera gallery_camera ap num_queries", _cameras(figures)),
        "identities": _table("pid ap num_queries", _identities(figures)),
        "failures": _table("reason explanation count examples", _failures(figures)),
        "map": _table("x y pid side", _map(figures)),
    }
    return {name: table for name, table in made.items() if len(table) > 1}


def _table(columns: str, rows: Iterable[tuple[Cell, ...]]) -> Table:
    return [("figures", *columns.split()), *rows]


def _figures(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        for name, value in one.metrics.items():
            ends = one.intervals.get(name)
            beside = (ends.low, ends.high, ends.level) if ends else (None, None, None)
            yield (variant_name(one), name, value, *beside)


def _cmc(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        for rank, share in enumerate(one.cmc, start=1):
            yield variant_name(one), rank, share


def _roc(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        if one.verification is not None:
            curve = one.verification
            for row in zip(curve.fpr, curve.tpr, curve.thresholds, strict=False):
                yield (variant_name(one), *row)


def _distances(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        if one.histogram is not None:
            found = one.histogram
            bins = zip(found.edges, found.edges[1:], found.same, found.different, strict=False)
            for row in bins:
                yield (variant_name(one), *row)


def _cameras(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        pairs = one.camera_pairs
        if pairs is None:
            continue
        for row, query in enumerate(pairs.query_cameras):
            for column, gallery in enumerate(pairs.gallery_cameras):
                count = pairs.num_queries[row][column]
                yield variant_name(one), query, gallery, pairs.ap[row][column], count


def _identities(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        for found in one.identities:
            yield variant_name(one), found.pid, found.ap, found.num_queries


def _failures(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        for found in one.failures:
            examples = " ".join(map(str, found.examples))
            yield variant_name(one), found.reason, found.explanation, found.count, examples


def _map(figures: FigureSet) -> Iterator[tuple[Cell, ...]]:
    for one in figures.details:
        if one.map is not None:
            for row in zip(one.map.x, one.map.y, one.map.pids, one.map.sides, strict=False):
                yield (variant_name(one), *row)
