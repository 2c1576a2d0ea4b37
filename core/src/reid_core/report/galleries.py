"""Ranked galleries: a query, what the model takes for the same individual, right and wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reid_core.report.numbers import NOT_FINITE, metric_text
from reid_core.report.records import Box, RankedResult, Ranking, Results, Selection
from reid_core.report.summary import protocols_of
from reid_core.report.thumbnails import Picture, picture

#: Each thumbnail takes about 3 kB of the page.
MAX_ROWS = 24
MAX_RESULTS = 10

_WHY: dict[Selection, str] = {
    "best": "One of the queries with the highest average precision.",
    "worst": (
        "One of the queries with the lowest average precision: "
        "look here for wrong labels and for what the model confuses."
    ),
    "random": "A query drawn at random, picked neither for looking good nor for looking bad.",
}


@dataclass(frozen=True)
class RankedPicture:
    """A gallery image at its place, which counts from 1."""

    place: int
    picture: Picture
    pid: str
    camid: str
    distance: str
    is_match: bool


@dataclass(frozen=True)
class GalleryRow:
    """A query with its ranked gallery, as the page shows it."""

    label: Selection
    dataset: str
    ap: str
    how_measured: str
    sentence: str
    query: Picture
    pid: str
    camid: str
    results: tuple[RankedPicture, ...]


def gallery_rows(rankings: tuple[Ranking, ...], results: Results | None) -> tuple[GalleryRow, ...]:
    """Read the thumbnails of the first rankings.

    Args:
        rankings: As in ``ranks.json``; beyond ``MAX_ROWS``, and beyond ``MAX_RESULTS`` gallery
            images in each, they are left out to keep the page small.
        results: Names the protocol and distance of each data set.
    """
    # The same gallery image often answers several queries.
    load = cache(_picture)
    rows = []
    for ranking in rankings[:MAX_ROWS]:
        how = protocols_of(results, ranking.dataset)
        shown = ranking.results[:MAX_RESULTS]
        rows.append(
            GalleryRow(
                label=ranking.selection,
                dataset=ranking.dataset,
                ap="not defined" if ranking.ap is None else metric_text("mAP", ranking.ap),
                # Two ways of measuring cannot be told apart here: better silent than wrong.
                how_measured=how[0] if len(how) == 1 else "",
                sentence=_sentence(ranking.selection, shown),
                query=load(ranking.query.path, ranking.query.box, ranking.query.thumbnail),
                pid=ranking.query.pid,
                camid=ranking.query.camid,
                results=tuple(
                    _ranked(place, one, load(one.path, one.box, one.thumbnail))
                    for place, one in enumerate(shown, start=1)
                ),
            )
        )
    return tuple(rows)


def _sentence(selection: Selection, shown: tuple[RankedResult, ...]) -> str:
    if not shown:
        return f"{_WHY[selection]} No gallery image is recorded for it."
    num_right = sum(one.match for one in shown)
    return (
        f"{_WHY[selection]} After the query, left to right: the {len(shown)} gallery images "
        f"nearest to it, smallest distance first; {num_right} of them right."
    )


def _picture(path: str, box: Box | None, thumbnail: str | None) -> Picture:
    if thumbnail is not None:
        return Picture(Path(path).name, thumbnail)
    return picture(path, box)


def _ranked(place: int, one: RankedResult, loaded: Picture) -> RankedPicture:
    known = one.distance is not None and math.isfinite(one.distance)
    return RankedPicture(
        place=place,
        picture=loaded,
        pid=one.pid,
        camid=one.camid,
        distance=f"{one.distance:.3f}" if known else NOT_FINITE,
        is_match=one.match,
    )
