"""Embeddings of a test set in a file, ``.npz`` or ``.parquet``: of any tool in, of any model out.

An ``.npz`` file holds ``query_features``, ``query_pids``, ``query_camids``, ``query_paths``, the
same for ``gallery_…``, and any further column as ``query_NAME`` and ``gallery_NAME``. A
``.parquet`` file holds a row an image: ``split``, ``pid``, ``camid``, ``embedding``, ``path``, and
further columns.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.files import embedding_parquet
from reid_core.evaluation.files.embedding_layouts import (
    CAMIDS,
    FEATURES,
    PATHS,
    PIDS,
    SPLIT,
    is_one_table,
    one_table,
    two_sided,
)
from reid_core.evaluation.files.embedding_set import EmbeddingSet, Side

log = logging.getLogger("reid_core")

#: Endings of the files that can be read and written.
ENDINGS = (".npz", ".parquet")

_SIDES = ("query", "gallery")
#: Keys that a message shows.
_SHOWN = 6
_Read = Callable[[str], NDArray[np.generic]]


def read_embeddings(path: Path, *, name: str | None = None) -> EmbeddingSet:
    """Read the embeddings of a test set.

    Other tools' names of the columns are understood: ``qf``, ``q_feat``, ``q_pids``, ``g_camids``,
    ``g_cams``. So is an ``.npz`` file of one table: ``features``, ``pids``, ``camids``, ``split``.

    Args:
        path: The file.
        name: What the set is called in results; None is the file's name.

    Returns:
        The embeddings as float32, with identities and cameras numbered.

    Raises:
        UsageError: The file has another ending.
        DataError: It is not there, cannot be read, lacks a column, or holds Python objects.
    """
    require_ending(path)
    if not path.is_file():
        raise DataError(f"embeddings {path} not found; expected a file .npz or .parquet")
    name = name or path.stem
    if path.suffix.lower() == ".parquet":
        columns = embedding_parquet.read_columns(path)
        return EmbeddingSet.of(name, *_of_table(columns, columns.__getitem__, str(path)))
    try:
        with np.load(path, allow_pickle=False) as file:
            return EmbeddingSet.of(name, *_of_npz(file, str(path)))
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        # NumPy takes what it does not know for a pickle, and advises to run it.
        why = "it is no archive of arrays" if "pickle" in str(error) else error
        raise DataError(
            f"embeddings {path} cannot be read as .npz: {why}; expected what numpy.savez writes"
        ) from error


def write_embeddings(path: Path, embeddings: EmbeddingSet) -> None:
    """Write the embeddings of a test set as :func:`read_embeddings` reads them back.

    Args:
        path: Ends in ``.npz`` or ``.parquet``; an old file is replaced at once.
        embeddings: The set.

    Raises:
        UsageError: The file has another ending.
        DataError: It cannot be written, or a package is missing.
    """
    from reid_core.checkpoint.atomic import write_atomically

    require_ending(path)
    try:
        if path.suffix.lower() == ".parquet":
            content = embedding_parquet.table_of(embeddings.sides)
            write_atomically(path, lambda file: file.write(content))
        else:
            arrays = _arrays(embeddings)
            write_atomically(path, lambda file: _save(file, arrays))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


def require_ending(path: Path) -> None:
    """Check that a file of that name can hold embeddings.

    Raises:
        UsageError: It has another ending.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: expected a name that ends in {' or '.join(ENDINGS)}")


def _of_npz(file: np.lib.npyio.NpzFile, source: str) -> tuple[Side, Side]:
    def read(key: str) -> NDArray[np.generic]:
        try:
            return cast("NDArray[np.generic]", file[key])
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            raise DataError(
                f"{source}: {key} holds Python objects, which are not read because they could run "
                "code; write numbers or text instead, for example numpy.asarray(ids).astype(str)"
            ) from error

    if is_one_table(file.files):
        return _of_table(file.files, read, source)
    found, strange = two_sided(file.files, source=source)
    if strange:
        more = ", …" if len(strange) > _SHOWN else ""
        log.warning("%s: not used: %s%s", source, ", ".join(strange[:_SHOWN]), more)
    query, gallery = (_side(found[side], read, f"{source}: {side}") for side in _SIDES)
    return query, gallery


def _of_table(
    keys: Mapping[str, object] | list[str], read: _Read, source: str
) -> tuple[Side, Side]:
    found = one_table(keys, source=source)
    split = found.pop(SPLIT, None)
    whole = _side(found, read, source)
    # Without a split all rows are queries, for protocols that cut the set by themselves.
    splits = np.full(len(whole), "query") if split is None else read(split).astype(str)
    others = sorted(set(np.unique(splits).tolist()) - set(_SIDES))
    if others:
        number = int(np.count_nonzero(~np.isin(splits, _SIDES)))
        log.info("%s: %d rows of split %s are left out", source, number, ", ".join(others))
    if len(splits) != len(whole):
        raise DataError(
            f"{source}: {len(whole)} rows of features, but {len(splits)} of split; "
            "expected one a row"
        )
    query, gallery = (_take(whole, np.flatnonzero(splits == side)) for side in _SIDES)
    return query, gallery


def _side(found: Mapping[str, str], read: _Read, source: str) -> Side:
    columns = {name: read(key) for name, key in found.items()}
    features = columns.pop(FEATURES)
    if features.ndim != 2 or features.dtype.kind != "f":
        raise DataError(
            f"{source}: {found[FEATURES]} is {features.shape} {features.dtype}; expected (N, D) "
            "floating point, one row an image"
        )
    for name, column in columns.items():
        if column.ndim == 0 or len(column) != len(features):
            raise DataError(
                f"{source}: {len(features)} rows of {found[FEATURES]}, but {found[name]} is "
                f"{column.shape}; expected one entry a row"
            )
    camids, paths = columns.pop(CAMIDS, None), columns.pop(PATHS, None)
    return Side(
        features=np.ascontiguousarray(features, dtype=np.float32),
        pids=_ids(columns.pop(PIDS)),
        camids=None if camids is None else _ids(camids),
        paths=None if paths is None else _names(paths),
        columns=columns,
    )


def _names(paths: NDArray[np.generic]) -> NDArray[np.str_]:
    """Take one name a row; of several, such as those of a track, the first."""
    return (paths if paths.ndim == 1 else paths.reshape(len(paths), -1)[:, 0]).astype(str)


def _ids(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Take one number or text a row, whatever other tools made of it: (N, 1), bytes, 3.0."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind == "S":
        return np.char.decode(cast("NDArray[np.bytes_]", values), "utf-8")
    if values.dtype.kind == "f" and np.array_equal(values, np.rint(values)):
        return values.astype(np.int64)
    return values


def _take(side: Side, rows: NDArray[np.intp]) -> Side:
    return Side(
        features=side.features[rows],
        pids=side.pids[rows],
        camids=None if side.camids is None else side.camids[rows],
        paths=None if side.paths is None else side.paths[rows],
        columns={name: column[rows] for name, column in side.columns.items()},
    )


def _arrays(embeddings: EmbeddingSet) -> dict[str, NDArray[np.generic]]:
    arrays: dict[str, NDArray[np.generic]] = {}
    for prefix, side in zip(_SIDES, embeddings.sides, strict=True):
        columns = {FEATURES: side.features, PIDS: side.pids, CAMIDS: side.camids, PATHS: side.paths}
        for name, column in {**columns, **side.columns}.items():
            if column is not None:
                arrays[f"{prefix}_{name}"] = plain_text(column)
    return arrays


def _save(file: IO[bytes], arrays: Mapping[str, NDArray[np.generic]]) -> None:
    # What numpy.savez does, which takes names as keywords: a column could be called "file".
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def plain_text(column: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return text of any width as text of one width, which files can hold; the rest as it is."""
    return column.astype(str) if column.dtype.kind in "TO" else column
