"""Ranked galleries: a query, what the model takes for the same individual, right and wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reid_core.report.numbers import NOT_FINITE, defined_text
from reid_core.report.records import Box, RankedResult, Ranking, Results, Selection
from reid_core.report.summary import protocols_of
from reid_core.report.thumbnails import Picture, picture

#: Each thumbnail takes about 3 kB of the page.
MAX_ROWS = 24
MAX_RESULTS = 10
#: The order by distance.
PLAIN = "plain"

_WHY: dict[Selection, str] = {
    "best": "One of the queries with the highest average precision.",
    "worst": (
        "One of the queries with the lowest average precision: "
        "look here for wrong labels and for what the model confuses."
    ),
    "random": "A query drawn at random, picked neither for looking good nor for looking bad.",
    "chosen": "A query that was asked for by name.",
}
#: What rounding may add to the range of the cosine distance, 0 to 2.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class RankedPicture:
    """A gallery image at its place, which counts from 1; ``similarity`` is empty if unknown."""

    place: int
    picture: Picture
    pid: str
    camid: str
    distance: str
    similarity: str
    is_match: bool


@dataclass(frozen=True)
class GalleryRow:
    """A query with its ranked gallery, as the page shows it."""

    label: Selection
    dataset: str
    ap: str
    how_measured: str
    order: str
    sentence: str
    query: Picture
    pid: str
    camid: str
    results: tuple[RankedPicture, ...]

    @property
    def is_reranked(self) -> bool:
        """Whether the order is another than that by distance."""
        return self.order != PLAIN


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
        how = _how(ranking, results)
        shown, after = ranking.results[:MAX_RESULTS], ranking.postprocessing
        is_cosine = how.endswith("cosine distance") and not after
        rows.append(
            GalleryRow(
                label=ranking.selection,
                dataset=ranking.dataset,
                ap=defined_text("mAP", ranking.ap),
                how_measured=how,
                order=f"after {', then '.join(after)}" if after else PLAIN,
                sentence=_sentence(ranking.selection, shown),
                query=load(ranking.query.path, ranking.query.box, ranking.query.thumbnail),
                pid=ranking.query.pid,
                camid=ranking.query.camid,
                results=tuple(
                    _ranked(place, one, load(one.path, one.box, one.thumbnail), is_cosine)
                    for place, one in enumerate(shown, start=1)
                ),
            )
        )
    return tuple(rows)


def missing_sentence(rows: Iterable[GalleryRow]) -> str:
    """Say how many pictures have no file; empty where all have one."""
    shown = [one for row in rows for one in (row.query, *(each.picture for each in row.results))]
    num_missing = sum(one.is_missing for one in shown)
    if not num_missing:
        return ""
    if num_missing == len(shown):
        return (
            "None of the images is in the file that is recorded for it: names stand for them. "
            "That is usual for embeddings from another machine."
        )
    return (
        f"{num_missing} of the {len(shown)} images shown are not in the file that is recorded for "
        "them: names stand for them."
    )


def _sentence(selection: Selection, shown: tuple[RankedResult, ...]) -> str:
    if not shown:
        return f"{_WHY[selection]} No gallery image is recorded for it."
    num_right = sum(one.match for one in shown)
    verb = "is" if num_right == 1 else "are"
    return f"{_WHY[selection]} {num_right} of the {len(shown)} shown {verb} right."


def _picture(path: str, box: Box | None, thumbnail: str | None) -> Picture:
    if thumbnail is not None:
        return Picture(Path(path).name, thumbnail)
    return picture(path, box)


def _how(ranking: Ranking, results: Results | None) -> str:
    if ranking.protocol and ranking.distance:
        return f"protocol {ranking.protocol}, {ranking.distance} distance"
    how = protocols_of(results, ranking.dataset)
    # Two ways of measuring cannot be told apart here: better silent than wrong.
    return how[0] if len(how) == 1 else ""


def similarity_text(distance: float | None) -> str:
    """Write the cosine similarity of a cosine distance, from -1 to 1.

    Args:
        distance: From 0 to 2, and beyond by no more than rounding; anything else is no such
            distance, and gives an empty text.
    """
    if distance is None or not -_ROUNDING <= distance <= 2 + _ROUNDING:
        return ""
    return f"{min(1.0, max(-1.0, 1 - distance)):.3f}"


def _ranked(place: int, one: RankedResult, loaded: Picture, is_cosine: bool) -> RankedPicture:
    known = one.distance is not None and math.isfinite(one.distance)
    return RankedPicture(
        place=place,
        picture=loaded,
        pid=one.pid,
        camid=one.camid,
        distance=f"{one.distance:.3f}" if known else NOT_FINITE,
        similarity=similarity_text(one.distance) if is_cosine else "",
        is_match=one.match,
    )
