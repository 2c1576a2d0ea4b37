"""Embeddings in a Parquet file, a row an image; needs the extra ``parquet``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from reid_core.evaluation.files.embedding_set import Side

_SIDES = ("query", "gallery")


def read_columns(path: Path) -> dict[str, NDArray[np.generic]]:
    """Read all columns of a file.

    Args:
        path: An existing file.

    Returns:
        Columns by name, (N,) or, of lists of numbers, (N, K).

    Raises:
        DataError: pyarrow is missing, the file cannot be read, lists differ in length, or a cell is
            empty.
    """
    _require_pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"embeddings {path} cannot be read as Parquet: {reason}") from error
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    return {name: _column(table.column(name).combine_chunks(), name, path) for name in names}


def table_of(sides: tuple[Side, Side]) -> bytes:
    """Return the content of a file that holds query and gallery.

    Args:
        sides: Query and gallery.

    Raises:
        DataError: pyarrow is missing.
    """
    _require_pyarrow(None)
    import pyarrow as pa
    import pyarrow.parquet as pq

    splits = np.repeat(_SIDES, [len(side) for side in sides])
    columns: dict[str, pa.Array] = {"split": pa.array(splits.tolist())}
    for name, parts in _parts(sides).items():
        columns[name] = _array(np.concatenate(parts))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _parts(sides: tuple[Side, Side]) -> dict[str, list[NDArray[np.generic]]]:
    named: list[dict[str, NDArray[np.generic] | None]] = [
        {
            "embedding": side.features,
            "pid": side.pids,
            "camid": side.camids,
            "path": side.paths,
            **side.columns,
        }
        for side in sides
    ]
    found = {}
    for name in named[0]:
        columns = [part.get(name) for part in named]
        present = [column for column in columns if column is not None]
        if len(present) == len(columns):
            found[name] = present
    return found


def _array(values: NDArray[np.generic]) -> pa.Array:
    import pyarrow as pa

    if values.dtype.kind in "UTO":
        return pa.array(values.astype(str).tolist(), type=pa.string() if values.ndim == 1 else None)
    if values.ndim == 1:
        return pa.array(values)
    width = int(np.prod(values.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width)


def _column(array: pa.Array, name: str, path: Path) -> NDArray[np.generic]:
    import pyarrow as pa

    kind = array.type
    if array.null_count:
        raise DataError(f"{path}: column {name} has {array.null_count} empty cells; fill them")
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(array, name, path)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(array.to_pylist(), dtype=np.str_)
    return cast("NDArray[np.generic]", array.to_numpy(zero_copy_only=False))


def _lists(array: pa.Array, name: str, path: Path) -> NDArray[np.generic]:
    values = array.flatten().to_numpy(zero_copy_only=False)
    rows = len(array)
    lengths: NDArray[np.int64] = np.unique(array.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) > 1:
        raise DataError(
            f"{path}: column {name} has lists of {lengths[0]} to {lengths[-1]} numbers; expected "
            "one length"
        )
    return cast("NDArray[np.generic]", values.reshape(rows, -1))


def _require_pyarrow(path: Path | None) -> None:
    try:
        import pyarrow.parquet  # noqa: F401 — whether it is there
    except ImportError as error:
        what = "a .parquet file" if path is None else str(path)
        raise DataError(
            f"{what} needs pyarrow; type: pip install 'reid-core[parquet]'; or use an .npz file"
        ) from error
