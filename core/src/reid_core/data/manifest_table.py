"""A data set's table as a file that the readers ``csv`` and ``parquet`` read back."""

from __future__ import annotations

import io
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest, text_column
from reid_core.data.stores import FolderStore
from reid_core.errors import DataError, UsageError
from reid_core.progress import track

#: Endings of the files that can be written.
ENDINGS = (".csv", ".parquet")

_BOX = ("x", "y", "w", "h")
#: Kinds of numpy's types that are numbers.
_NUMBERS = "biuf"
#: What a cell can only hold in quotes; the other separators that a reader may guess are among them.
_SPECIAL = re.compile(r'[",;|\t\r\n]')


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write a data set's rows in their order, whole or not at all.

    Paths are relative to the table's folder, with forward slashes: table and images can be moved
    together. Cameras that are not known have no column, boxes are ``x``, ``y``, ``w`` and ``h``.

    Args:
        manifest: The rows; their images are files.
        path: Ends in one of ``ENDINGS``; an old file is replaced.

    Raises:
        UsageError: Another ending.
        DataError: The images are not files below a folder, a package is missing, or the file
            cannot be written.
    """
    require_ending(path)
    from reid_core.checkpoint.atomic import write_atomically

    placed = replace(manifest, paths=text_column(portable_paths(manifest, path.parent)))
    content = _parquet(placed) if path.suffix.lower() == ".parquet" else _csv(placed)
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


def require_ending(path: Path) -> None:
    """Check that a table of that name can be written.

    Raises:
        UsageError: It has another ending.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"-o {path}: expected a name that ends in {' or '.join(ENDINGS)}")


def portable_paths(manifest: Manifest, folder: Path) -> list[str]:
    """Return the images' paths from a folder, with forward slashes.

    Raises:
        DataError: The images are not files, or on another drive.
    """
    if not isinstance(manifest.images, FolderStore):
        raise DataError(
            f"data set {manifest.name}: its images are packed together, so no table can name them; "
            "--copy FOLDER writes them as files"
        )
    try:
        prefix = _way(manifest.root, folder)
    except ValueError as error:
        raise DataError(
            f"data set {manifest.name}: {manifest.root} is on another drive than {folder}; write "
            "the table beside the images, or copy them by --copy FOLDER"
        ) from error
    paths: list[str] = manifest.paths.tolist()
    prefix = "" if prefix == "." else f"{prefix}/"
    return [_joined(prefix, path, folder) for path in paths]


def _way(root: Path, folder: Path) -> str:
    """Return the way from a folder to another; ``..`` leads up from where a link points to."""
    way = os.path.relpath(root, folder)
    if os.path.realpath(folder / way) != os.path.realpath(root):
        way = os.path.relpath(os.path.realpath(root), os.path.realpath(folder))
    return Path(way).as_posix()


def _joined(prefix: str, path: str, folder: Path) -> str:
    if Path(path).is_absolute():
        return Path(os.path.relpath(path, folder)).as_posix()
    return posixpath.normpath(prefix + path) if "./" in path or "//" in path else prefix + path


def copy_images(manifest: Manifest, folder: Path) -> Manifest:
    """Copy a data set's images below a folder, each file once.

    Args:
        manifest: The rows.
        folder: Where to; files of the same name are replaced.

    Returns:
        The same rows, with the copies as their images.

    Raises:
        DataError: An image cannot be read or written.
    """
    paths: list[str] = manifest.paths.tolist()
    targets = _below(paths, manifest.root)
    store = manifest.images
    once = sorted(set(zip(paths, targets, strict=True)))
    for path, target in track(once, total=len(once), description="copying images"):
        place = folder / target
        try:
            content = store.read(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        except OSError as error:
            raise DataError(
                f"image {store.locate(path)} cannot be copied to {place}: "
                f"{error.strerror or error}; 'reid-data check' lists all that cannot be read"
            ) from error
    return replace(manifest, root=folder, paths=text_column(targets), store=None)


def _below(paths: Sequence[str], root: Path) -> list[str]:
    """Return paths that do not lead out of the folder they are joined to."""
    cleaned = [posixpath.normpath(path) for path in paths]
    if not any(path.startswith("..") or Path(path).is_absolute() for path in cleaned):
        return cleaned
    places = [(root.absolute() / path).as_posix() for path in paths]
    places = [posixpath.normpath(place) for place in places]
    common = posixpath.commonpath([posixpath.dirname(place) for place in places])
    return [posixpath.relpath(place, common) for place in places]


def _columns(manifest: Manifest) -> Iterator[tuple[str, NDArray[np.generic]]]:
    yield "path", cast("NDArray[np.str_]", manifest.paths)
    yield "pid", cast("NDArray[np.generic]", manifest.pids)
    if manifest.has_cameras:
        yield "camid", cast("NDArray[np.generic]", manifest.camids)
    yield "split", manifest.splits
    for name, values in manifest.columns.items():
        if name == "boxes":
            yield from ((one, values[:, place]) for place, one in enumerate(_BOX))
        else:
            yield name, values


def _csv(manifest: Manifest) -> bytes:
    columns = [part for pair in _columns(manifest) for part in _flat(*pair)]
    lines = [",".join(_cell(name) for name, _ in columns)]
    cells = [_cells(values) for _, values in columns]
    lines += map(",".join, zip(*cells, strict=True))
    return "".join(f"{line}\n" for line in lines).encode()


def _flat(name: str, values: NDArray[np.generic]) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield ``name[0]``, ``name[1]``, … of a column with several numbers a row."""
    if values.ndim == 1:
        yield name, values
    elif values.ndim == 2 and values.dtype.kind in _NUMBERS:
        yield from ((f"{name}[{place}]", values[:, place]) for place in range(values.shape[1]))
    else:
        raise DataError(
            f"column {name} holds {values.shape[1:]} values of {values.dtype} for each image, "
            "which no cells of a .csv file can; write a .parquet file"
        )


def _cells(values: NDArray[np.generic]) -> list[str]:
    """Return a column as the cells of a table; NaN is an empty one."""
    if values.dtype.kind == "f":
        # repr gives the fewest digits that read back as the same number.
        return ["" if np.isnan(one) else repr(one) for one in values.astype(np.float64).tolist()]
    if values.dtype.kind in _NUMBERS:
        return [str(int(one)) for one in values.tolist()]
    texts: list[str] = values.tolist()
    if all(map(_is_number, set(texts))):
        # In quotes a reader takes 7 for a name; without them, for a number.
        return [_quoted(text) for text in texts]
    return [_cell(text) for text in texts]


def _cell(text: str) -> str:
    return _quoted(text) if _SPECIAL.search(text) or text != text.strip() else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _is_plain(values: NDArray[np.generic]) -> bool:
    return values.ndim == 1 and values.dtype.kind in _NUMBERS


def _parquet(manifest: Manifest) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DataError(
            "a .parquet file needs pyarrow: pip install 'reid-core[parquet]'; or write a .csv file"
        ) from error
    columns = {
        # The type goes along with numbers: a column of NaN alone would have none.
        name: pa.array(values if _is_plain(values) else values.tolist(), from_pandas=True)
        for name, values in _columns(manifest)
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()
