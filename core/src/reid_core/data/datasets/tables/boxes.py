"""Boxes in a table: where on the image somebody is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.tables.table import Coded, Column, Table
from reid_core.errors import DataError

#: Columns of one box: ours, and corners as OpenMetricLearning's tables have them.
SIZES = ("x", "y", "w", "h")
CORNERS = ("x_1", "y_1", "x_2", "y_2")
#: Columns that hold a whole box.
TOGETHER = ("bbox", "boxes")
_NUMBER = re.compile(r"[^\s,;\[\]()]+")
_NOTHING = frozenset({"", "nan", "none", "null"})

Boxes = NDArray[np.float64]


def box_columns(names: Mapping[str, object]) -> tuple[str, ...]:
    """Return those of a table's columns that say where the boxes are; none without boxes.

    Args:
        names: The columns, by their names in a manifest.
    """
    groups: list[tuple[str, ...]] = [
        group for group in (SIZES, CORNERS) if all(name in names for name in group)
    ]
    groups += [(name,) for name in TOGETHER if name in names]
    return tuple(name for group in groups for name in group)


def read_boxes(table: Table) -> Boxes | None:
    """Return the boxes of a table.

    Returns:
        (N, 4) float64 x, y, width and height in pixels, NaN where there is none; None for a table
        that has no column of them.

    Raises:
        DataError: A box is no box, they are there twice, or they are fractions of the image.
    """
    used = box_columns(table.columns)
    if not used:
        return None
    if len(used) > 1 and used not in (SIZES, CORNERS):
        raise DataError(
            f"{table.what}: boxes are there twice, in the columns {', '.join(used)}; ignore one: "
            f"{how_to_set('columns', {table.titles.get(used[-1], used[-1]): None})}"
        )
    boxes = _together(table, used[0]) if len(used) == 1 else _apart(table, used)
    if used == CORNERS:
        boxes[:, 2:] -= boxes[:, :2]
    require_pixels(boxes, what=table.what)
    return boxes


def require_pixels(boxes: Boxes, *, what: str) -> None:
    """Refuse boxes that are fractions of the image.

    Raises:
        DataError: No box reaches beyond the first pixel.
    """
    largest = np.nanmax(boxes, initial=-np.inf)
    if np.isfinite(boxes).any() and largest <= 1:
        raise DataError(
            f"{what}: no value of the boxes is above {largest:g}, so they look like fractions of "
            "the image; expected pixels: multiply them by the images' widths and heights"
        )


def parse_box(text: str) -> list[float] | None:
    """Read a box such as ``[2, 3, 4, 5]`` or ``2 3 4 5``.

    Returns:
        x, y, width and height, NaN for none; None for text that is no box.
    """
    parts = _NUMBER.findall(text)
    if not parts or all(part.casefold() in _NOTHING for part in parts):
        return [np.nan] * 4
    try:
        values = [float(part) for part in parts]
    except ValueError:
        return None
    return values if len(values) == 4 and np.isfinite(values).all() else None


def _together(table: Table, name: str) -> Boxes:
    column = table.columns[name]
    if not isinstance(column, Coded):
        if column.ndim != 2 or column.shape[1] != 4:
            table.fail(0, name, f"got {column.shape[1:]} values; expected x, y, width and height")
        return column.astype(np.float64)
    parsed = [parse_box(text) for text in column.names]
    for text, box in zip(column.names, parsed, strict=True):
        if box is None:
            row = int(column.rows_of(text)[0])
            table.fail(row, name, f"got {text!r}; expected [x, y, width, height], or nothing")
    return np.array(parsed, dtype=np.float64).reshape(-1, 4)[column.codes]


def _apart(table: Table, names: tuple[str, ...]) -> Boxes:
    boxes = np.stack([_numbers(table, name, table.columns[name]) for name in names], axis=1)
    given = np.isfinite(boxes)
    partly = np.flatnonzero(given.any(axis=1) & ~given.all(axis=1))
    if len(partly):
        row = int(partly[0])
        missing = [name for name, is_given in zip(names, given[row], strict=True) if not is_given]
        table.fail(row, missing[0], "the box has no such value; fill in all four or none of them")
    return boxes


def _numbers(table: Table, name: str, column: Column) -> NDArray[np.float64]:
    if isinstance(column, Coded):
        return number_column(table, name, column)
    return column.astype(np.float64)


def number_column(table: Table, name: str, column: Coded) -> NDArray[np.float64]:
    """Read a column that has to hold numbers.

    Returns:
        (N,) float64, NaN where there is none.

    Raises:
        DataError: A value is no number.
    """
    values = []
    for text in column.names:
        try:
            values.append(np.nan if text.casefold() in _NOTHING else float(text))
        except ValueError:
            row = int(column.rows_of(text)[0])
            table.fail(row, name, f"got {text!r}; expected a number, or nothing")
    return np.array(values, dtype=np.float64)[column.codes]
