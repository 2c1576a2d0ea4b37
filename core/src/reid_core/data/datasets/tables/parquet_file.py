"""Parquet files, read a group of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.tables.csv_cells import PathCells, TextCells
from reid_core.data.datasets.tables.header import name_columns
from reid_core.data.datasets.tables.table import Column, Table
from reid_core.data.manifest import TextArray
from reid_core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BLOCK = 2**16


def read_parquet(path: Path, *, what: str, columns: Mapping[str, str | None] | None) -> Table:
    """Read the columns of a Parquet file that a manifest can hold.

    Args:
        path: An existing file.
        what: The data set and the file, for messages.
        columns: What the file calls a column; see :func:`name_columns`.

    Raises:
        DataError: pyarrow is missing, or the file cannot be read.
    """
    _require_pyarrow(what)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            titles = name_columns(_names(file), columns, what=what)
            read = {
                ours: _column(file, theirs, is_path=ours == "path", what=what)
                for ours, theirs in titles.items()
            }
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{what} cannot be read as Parquet: {reason}") from error
    paths = read.pop("path")
    return Table(what, cast("TextArray", paths), read, lambda row: f"row {row + 1}", titles)


def _require_pyarrow(what: str) -> None:
    try:
        import pyarrow.parquet  # noqa: F401 — whether it is there
    except ImportError as error:
        raise DataError(
            f"{what}: reading Parquet needs pyarrow; type: pip install 'reid-core[parquet]'"
        ) from error


def _names(file: pq.ParquetFile) -> list[str]:
    """Return the columns' names, without those that pandas adds for its index."""
    names: list[str] = file.schema_arrow.names
    return ["" if name.startswith("__index_level_") else name for name in names]


def _column(file: pq.ParquetFile, name: str, *, is_path: bool, what: str) -> Column:
    import pyarrow as pa

    kind = _value_type(file.schema_arrow.field(name).type)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if is_path and not is_text:
        raise DataError(f"{what}: column {name} is {kind}; expected text, the images' paths")
    blocks = (batch.column(0) for batch in file.iter_batches(_BLOCK, columns=[name]))
    if is_text or pa.types.is_null(kind):
        cells = PathCells() if is_path else TextCells(is_text=True)
        for block in blocks:
            cells.add(["" if value is None else value for value in block.to_pylist()])
        return cells.finish()
    arrays = [_numbers(block, name, what) for block in blocks]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _value_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _numbers(block: pa.Array, name: str, what: str) -> NDArray[np.generic]:
    import pyarrow as pa

    if pa.types.is_dictionary(block.type):
        block = block.dictionary_decode()
    if pa.types.is_timestamp(block.type) or pa.types.is_date(block.type):
        return _seconds(block)
    if pa.types.is_fixed_size_list(block.type) or pa.types.is_list(block.type):
        return _lists(block, name, what)
    if not (
        pa.types.is_integer(block.type)
        or pa.types.is_floating(block.type)
        or pa.types.is_boolean(block.type)
    ):
        raise DataError(
            f"{what}: column {name} is {block.type}; expected text, numbers, times or lists of "
            f"numbers; ignore it: {how_to_set('columns', {name: None})}"
        )
    if pa.types.is_boolean(block.type) and block.null_count:
        block = block.cast(pa.int8())
    return cast("NDArray[np.generic]", block.to_numpy(zero_copy_only=False))


def _seconds(block: pa.Array) -> NDArray[np.float64]:
    import pyarrow as pa

    stamps = block.cast(pa.timestamp("ns")).cast(pa.int64())
    return cast("NDArray[np.float64]", stamps.to_numpy(zero_copy_only=False) / 1e9)


def _lists(block: pa.Array, name: str, what: str) -> NDArray[np.generic]:
    values = block.to_pylist()
    widths = {len(value) for value in values if value}
    if len(widths) > 1:
        raise DataError(
            f"{what}: column {name} has lists of {sorted(widths)} numbers; expected one length"
        )
    missing = [np.nan] * next(iter(widths), 4)
    kind = None if all(values) else np.float64
    try:
        array = np.array([value or missing for value in values], dtype=kind)
    except (TypeError, ValueError):
        array = np.array([None])
    if array.dtype.kind not in "biuf":
        raise DataError(f"{what}: column {name} has lists of something else than numbers")
    return array
