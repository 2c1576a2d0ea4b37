"""The splits in a table, as one column or as OpenMetricLearning writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.split_names import SplitNames, SplitsError
from reid_core.data.datasets.tables.table import Coded, Column, Table
from reid_core.data.datasets.text_ids import coded
from reid_core.data.manifest import SPLITS, Split
from reid_core.errors import DataError

#: Columns that say of a row that is not trained on what it is for.
ROLES = ("is_query", "is_gallery")
#: Columns that this module reads.
SPLIT_COLUMNS = ("split", *ROLES)
_TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True}
_TRUTHS |= dict.fromkeys(("false", "0", "0.0", "no", "", "nan", "none"), False)
_LEFT_OUT = len(SPLITS)


def read_splits(table: Table, names: SplitNames) -> tuple[NDArray[np.str_], NDArray[np.intp]]:
    """Return the split of each row, and the rows that are left out.

    Without a column of splits all rows are trained on.

    Args:
        table: The table.
        names: What its names of splits stand for.

    Returns:
        (N,) text and (M,) rows that ``names`` leaves out.

    Raises:
        SplitsError: A split is not known, or a row is both query and gallery.
        DataError: A value of ``is_query`` or ``is_gallery`` is neither true nor false.
    """
    if any(name in table.columns for name in ROLES):
        codes = _by_roles(table, names)
    elif "split" in table.columns:
        codes = _by_name(table, names)
    else:
        codes = np.zeros(len(table.paths), dtype=np.int8)
    left_out = np.flatnonzero(codes == _LEFT_OUT)
    codes[left_out] = 0
    return np.array(SPLITS)[codes], left_out


def _by_name(table: Table, names: SplitNames) -> NDArray[np.int8]:
    column = as_coded(table.columns["split"])
    unknown = [name for name in column.names if not names.knows(name)]
    if unknown:
        _fail_unknown(table, column, names, unknown)
    meanings = names.meanings(column.names, place=table.what)
    return np.array([_code(meanings[name]) for name in column.names], dtype=np.int8)[column.codes]


def _by_roles(table: Table, names: SplitNames) -> NDArray[np.int8]:
    is_query, is_gallery = (_truths(table, name) for name in ROLES)
    both = np.flatnonzero(is_query & is_gallery)
    if len(both):
        _fail(
            table,
            int(both[0]),
            "is_query",
            "it is query and gallery at once, so the image would find itself; let reid-data split "
            f"choose them anew, or ignore the columns: {how_to_set('columns', _ignored(table))}",
            aside={"columns": _ignored(table)},
        )
    codes = np.where(is_query, _code("query"), _code("gallery")).astype(np.int8)
    is_neither = ~(is_query | is_gallery)
    codes[is_neither] = _code("train")
    if "split" not in table.columns:
        return codes
    column = as_coded(table.columns["split"])
    # Their name of the test is "validation", which the two columns tell apart.
    trains = [names.knows(n) and names.meanings([n], place="")[n] == "train" for n in column.names]
    wrong = np.flatnonzero(is_neither & ~np.array(trains, dtype=bool)[column.codes])
    if len(wrong):
        row = int(wrong[0])
        name = column.names[column.codes[row]]
        _fail(
            table,
            row,
            "split",
            f"it is {name!r}, but neither is_query nor is_gallery is true; mend the table, or let "
            "reid-data split choose them anew",
            aside={"columns": _ignored(table)},
        )
    codes[np.array(trains, dtype=bool)[column.codes]] = _code("train")
    return codes


def _truths(table: Table, name: str) -> NDArray[np.bool_]:
    if name not in table.columns:
        return np.zeros(len(table.paths), dtype=bool)
    column = as_coded(table.columns[name])
    for text in column.names:
        if text.casefold() not in _TRUTHS:
            row = int(column.rows_of(text)[0])
            table.fail(row, name, f"got {text!r}; expected True or False")
    return np.array([_TRUTHS[text.casefold()] for text in column.names], dtype=bool)[column.codes]


def _ignored(table: Table) -> dict[str, str | None]:
    """Return the entries of ``columns`` that leave a table's splits aside."""
    return {table.titles.get(name, name): None for name in SPLIT_COLUMNS if name in table.columns}


def _fail_unknown(table: Table, column: Coded, names: SplitNames, unknown: list[str]) -> NoReturn:
    _fail(
        table,
        int(column.rows_of(unknown[0])[0]),
        "split",
        f"got {unknown[0]!r}; expected one of {', '.join(SPLITS)}; {names.what_to_say(unknown[0])}",
        aside={"splits": dict.fromkeys(sorted(unknown), "train")},
    )


def _fail(
    table: Table,
    row: int,
    column: str,
    message: str,
    *,
    aside: Mapping[str, Mapping[str, str | None]],
) -> NoReturn:
    try:
        table.fail(row, column, message)
    except DataError as error:
        raise SplitsError(str(error), aside=aside) from None


def _code(split: Split | None) -> int:
    return _LEFT_OUT if split is None else SPLITS.index(split)


def as_coded(column: Column) -> Coded:
    """Return a column as text, whatever it is."""
    return column if isinstance(column, Coded) else Coded(*coded(map(str, column.tolist())))
