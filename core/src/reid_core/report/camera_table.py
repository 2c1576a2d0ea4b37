"""AP by camera pair as a table whose cells are tinted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reid_core.report.numbers import NOT_DEFINED, count_text
from reid_core.report.plots.make import shown_cameras

if TYPE_CHECKING:
    from reid_core.evaluation.detail import CameraPairs


@dataclass(frozen=True)
class CameraCell:
    """A camera pair: its AP as text, its tint in percent, and what it is a mean of."""

    text: str
    tint: int
    title: str


@dataclass(frozen=True)
class CameraTable:
    """The table: columns are cameras of the gallery, and each row begins with one of queries."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[CameraCell, ...]], ...]
    note: str


def camera_table(pairs: CameraPairs, name: str) -> CameraTable | None:
    """Make the table of the cameras with most queries; None where there is no camera.

    Args:
        pairs: AP by camera pair.
        name: What the figures are of: ``plain``, or after what.
    """
    rows, columns = shown_cameras(pairs)
    if not rows or not columns:
        return None
    left_out = max(len(pairs.query_cameras) - len(rows), len(pairs.gallery_cameras) - len(columns))
    note = (
        f"The {max(len(rows), len(columns))} cameras with most queries; {count_text(left_out)} "
        "more are in the CSV."
        if left_out
        else ""
    )
    return CameraTable(
        name,
        tuple(pairs.gallery_cameras[column] for column in columns),
        tuple(
            (
                pairs.query_cameras[row],
                tuple(_cell(pairs.ap[row][c], pairs.num_queries[row][c]) for c in columns),
            )
            for row in rows
        ),
        note,
    )


def _cell(ap: float | None, num_queries: int) -> CameraCell:
    if ap is None or not math.isfinite(ap):
        return CameraCell("–", 0, f"{NOT_DEFINED}: no query has a match there")
    percent = 100 * ap
    return CameraCell(f"{percent:.0f}", round(percent), f"{percent:.1f} %, {num_queries} queries")
