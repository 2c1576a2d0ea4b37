"""The columns of a table beyond path, identity, camera, split and box."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.tables.boxes import Boxes, box_columns, number_column
from reid_core.data.datasets.tables.splits import SPLIT_COLUMNS
from reid_core.data.datasets.tables.table import Coded, Column, Table

#: Columns that hold numbers, whatever they look like.
_NUMBERS = frozenset({"frames", "viewids"})


def further_columns(table: Table, boxes: Boxes | None) -> dict[str, NDArray[np.generic]]:
    """Return the columns of a table that a manifest has no field for.

    Columns ``name[0]``, ``name[1]``, … of numbers become one, ``name`` (N, …).

    Args:
        table: The table.
        boxes: Its boxes (N, 4), or None.

    Raises:
        DataError: A time is no time, or a frame or view no number.
    """
    used = {"path", "pid", "camid", *SPLIT_COLUMNS, *box_columns(table.columns)}
    columns: dict[str, NDArray[np.generic]] = {}
    for name, column in table.columns.items():
        if name not in used:
            columns[name] = _values(table, name, column)
    columns = _gather(columns)
    return columns if boxes is None else {**columns, "boxes": boxes}


def _values(table: Table, name: str, column: Column) -> NDArray[np.generic]:
    if name == "times":
        return _seconds(table, column)
    if not isinstance(column, Coded):
        return column
    if name not in _NUMBERS:
        return column.text()
    values = number_column(table, name, column)
    is_integer = bool(np.isfinite(values).all() and (values == np.rint(values)).all())
    return values.astype(np.int64) if is_integer else values


def _seconds(table: Table, column: Column) -> NDArray[np.float64]:
    """Return seconds as they are, and dates as seconds since 1970 in UTC."""
    if not isinstance(column, Coded):
        return column.astype(np.float64)
    values = [seconds_of(text) for text in column.names]
    for text, value in zip(column.names, values, strict=True):
        if value is None:
            row = int(column.rows_of(text)[0])
            table.fail(row, "times", f"got {text!r}; expected seconds, or 2024-05-31 17:45:00")
    return np.array(values, dtype=np.float64)[column.codes]


def seconds_of(text: str) -> float | None:
    """Read a time: seconds, or a date of ISO 8601, taken as UTC unless it says otherwise.

    Returns:
        Seconds, since 1970 for a date; NaN for no text; None for text that is no time.
    """
    if not text.strip():
        return np.nan
    try:
        return float(text)
    except ValueError:
        pass
    try:
        date = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _gather(columns: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """Put columns ``name[0]``, ``name[1]``, … of numbers together to one, (N, …)."""
    gathered: dict[str, NDArray[np.generic]] = {}
    for name, values in columns.items():
        base, bracket, _ = name.partition("[")
        parts: list[NDArray[np.generic]] = []
        while f"{base}[{len(parts)}]" in columns:
            parts.append(columns[f"{base}[{len(parts)}]"])
        is_part = bracket and name in {f"{base}[{place}]" for place in range(len(parts))}
        if not is_part or any(part.dtype.kind not in "biuf" for part in parts):
            gathered[name] = values
        elif name == f"{base}[0]":
            gathered[base] = np.stack(parts, axis=1)
    return gathered
