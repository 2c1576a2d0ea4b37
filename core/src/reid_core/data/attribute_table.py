"""Attributes of identities, from a table that people keep beside their images."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray
from reid_core.errors import DataError

#: What the column of a manifest says where an identity is not in the table.
UNKNOWN = -1
#: How a value may be written.
_VALUES = {"0": 0, "1": 1, "-1": UNKNOWN, "": UNKNOWN}


def read_attributes(
    path: Path, pids: IdArray, *, dataset: str, required: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Read a CSV file with a column ``pid`` and a column of 0 and 1 for each attribute.

    A value that is not known is -1 or left out.

    Where the identities of the data set are numbers, 0002 is 2, as in the names of image files.

    Args:
        path: The file; its first line names the columns.
        pids: (N,) identities of the rows.
        dataset: Name of the data set, for messages.
        required: (N,) whether a row's identity has to be in the table.

    Returns:
        (N, A) int64, 0, 1 or :data:`UNKNOWN`, and the names of the attributes.

    Raises:
        DataError: The file cannot be read, a value is neither 0 nor 1, an identity is there twice,
            or one that is required is missing.
    """
    what = f"data set {dataset}: attributes {path}"
    try:
        with path.expanduser().open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{what} cannot be read: {error}") from error
    if not lines or "pid" not in lines[0] or len(lines[0]) < 2:
        raise DataError(
            f"{what}: the first line is {lines[0] if lines else 'missing'}; expected the names of "
            "the columns: pid and at least one attribute, for example pid,hat,backpack"
        )
    names = tuple(name for name in lines[0] if name != "pid")
    table = _table(lines, what, are_numbers=pids.dtype.kind in "iu")
    known = np.array([str(pid) in table for pid in pids.tolist()], dtype=bool)
    missing = pids[required & ~known]
    if len(missing):
        raise DataError(
            f"{what} lacks {len(np.unique(missing))} of the training identities, for example "
            f"{missing[0]}; expected a line for each"
        )
    nothing = [UNKNOWN] * len(names)
    rows = [table.get(str(pid), nothing) for pid in pids.tolist()]
    return np.array(rows, dtype=np.int64).reshape(len(pids), len(names)), names


def _table(lines: list[list[str]], what: str, *, are_numbers: bool) -> dict[str, list[int]]:
    place = lines[0].index("pid")
    table: dict[str, list[int]] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        values = [value.strip() for value in line]
        if len(values) != len(lines[0]):
            raise DataError(f"{what}, line {number}: {len(values)} values, not {len(lines[0])}")
        pid = values.pop(place)
        if are_numbers and pid.isdecimal():
            pid = str(int(pid))
        wrong = [value for value in values if value not in _VALUES]
        if wrong:
            raise DataError(
                f"{what}, line {number}: {wrong[0]!r} is neither 0 nor 1, nor -1 for not known"
            )
        if pid in table:
            raise DataError(f"{what}, line {number}: identity {pid} is there twice")
        table[pid] = [_VALUES[value] for value in values]
    return table
