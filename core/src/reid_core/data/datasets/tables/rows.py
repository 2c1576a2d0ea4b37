"""From a table to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.missing_places import SHOWN, require_folder, require_some_images
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.boxes import read_boxes
from reid_core.data.datasets.tables.further import further_columns
from reid_core.data.datasets.tables.paths import place_paths
from reid_core.data.datasets.tables.splits import read_splits
from reid_core.data.datasets.tables.table import Coded, Table
from reid_core.data.manifest import IdArray, Manifest, TextArray, no_cameras, text_column
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_core.wording import counted

#: What happens to a row without a box in a table that has boxes.
NoBox = Literal["whole", "drop"]
#: Paths that are ordinary text at a time.
_AT_ONCE = 2**16


@dataclass(frozen=True)
class RowOptions:
    """What a user may say of a table.

    Args:
        root: The folder that paths start at; None is the table's.
        splits: What its names of splits stand for.
        no_box: What happens to a row without a box.
        distractors: Identities that stand for nobody.
    """

    root: Path | None
    splits: SplitNames
    no_box: NoBox
    distractors: Sequence[int]


def manifest_of(table: Table, options: RowOptions, *, name: str, file: Path) -> Manifest:
    """Make the manifest of a table, in its order.

    Args:
        table: The table.
        options: What the user says of it.
        name: The data set's name.
        file: Where the table is.

    Returns:
        The manifest, without rows that are left out.

    Raises:
        DataError: There is no row, a value cannot be, or not one of a few images that were looked
            for is there.
    """
    if len(table.paths) == 0:
        raise DataError(f"{table.what}: the table has no rows; expected one for each image")
    given = None if options.root is None else resolve_root(options.root)
    root, paths = place_paths(table, given, file.parent)
    advice = (
        "set root to the folder that the paths in the table start at: "
        f"{how_to_set('root', 'FOLDER')}"
    )
    require_folder(root, what=table.what, advice=advice)
    require_some_images(root, paths, what=table.what, advice=advice)
    splits, left_out = read_splits(table, options.splits)
    boxes = read_boxes(table)
    manifest = Manifest(
        name=name,
        root=root,
        paths=paths,
        pids=_ids(table, "pid"),
        camids=_ids(table, "camid") if _has_cameras(table) else no_cameras(len(paths)),
        splits=splits,
        columns=further_columns(table, boxes),
        has_cameras=_has_cameras(table),
        distractors=tuple(options.distractors),
    )
    manifest = _without(manifest, left_out, "as splits says")
    if boxes is not None:
        manifest = _settle_boxes(manifest, options.no_box)
    return _note_repeats(manifest)


def _ids(table: Table, name: str) -> IdArray:
    column = table.columns[name]
    if not isinstance(column, Coded):
        return _number_ids(table, name, column)
    is_blank = np.array([not text.strip() for text in column.names], dtype=bool)
    _refuse_empty(table, name, np.flatnonzero(is_blank[column.codes]))
    return column.ids()


def _refuse_empty(table: Table, name: str, rows: NDArray[np.intp]) -> None:
    if len(rows) == 0:
        return
    others = rows[1:]
    # Finding a line reads the file once more, so only those that are shown are looked for.
    places = [table.place(int(row)) for row in others[:SHOWN]]
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    also = f", and so is that of {', '.join(places)}{more}" if places else ""
    table.fail(
        int(rows[0]),
        name,
        f"it is empty{also}; expected an integer or text; remove {len(rows)} of "
        f"{counted(len(table.paths), 'row')}, or fill them in",
    )


def _number_ids(table: Table, name: str, column: NDArray[np.generic]) -> NDArray[np.int64]:
    if column.ndim == 1 and column.dtype.kind in "iu":
        return column.astype(np.int64)
    if column.ndim != 1 or column.dtype.kind != "f":
        table.fail(0, name, f"it is {column.dtype} {column.shape[1:]}; expected integers or text")
    values = column.astype(np.float64)
    _refuse_empty(table, name, np.flatnonzero(np.isnan(values)))
    wrong = np.flatnonzero(~(np.isfinite(values) & (values == np.rint(values))))
    if len(wrong):
        row = int(wrong[0])
        table.fail(row, name, f"it is {values[row]}; expected an integer or text")
    return values.astype(np.int64)


def _has_cameras(table: Table) -> bool:
    column = table.columns.get("camid")
    if column is None:
        return False
    if isinstance(column, Coded):
        return any(name.strip() for name in column.names)
    return not (column.dtype.kind == "f" and np.isnan(column.astype(np.float64)).all())


def _without(manifest: Manifest, rows: NDArray[np.intp], why: str) -> Manifest:
    if len(rows) == 0:
        return manifest
    kept = manifest.take(np.delete(np.arange(len(manifest)), rows))
    return replace(kept, notes=(*manifest.notes, f"{counted(len(rows), 'row')} left out, {why}"))


def _settle_boxes(manifest: Manifest, no_box: NoBox) -> Manifest:
    missing = np.flatnonzero(np.isnan(manifest.columns["boxes"].astype(np.float64)).all(axis=1))
    if len(missing) == 0:
        return manifest
    if no_box == "drop":
        return _without(manifest, missing, "without a box")
    example = manifest.paths[missing[0]]
    number = counted(len(missing), "row")
    note = f"{number} without a box: the whole image, for example {example}"
    return replace(manifest, notes=(*manifest.notes, note))


def _note_repeats(manifest: Manifest) -> Manifest:
    """Note rows that show the same part of the same image as an earlier one of their split."""
    repeats = _repeats(manifest)
    if not repeats:
        return manifest
    example = manifest.paths[repeats[0]]
    number = counted(len(repeats), "row repeats", "rows repeat")
    note = f"{number} an image of the same split, for example {example}"
    return replace(manifest, notes=(*manifest.notes, note))


def _repeats(manifest: Manifest) -> list[int]:
    boxes = manifest.columns.get("boxes")
    seen: set[tuple[object, ...]] = set()
    repeats = []
    for row in _suspects(text_column(manifest.paths)).tolist():
        # Bytes, since one missing number is not equal to another.
        box = b"" if boxes is None else boxes[row].tobytes()
        key = (manifest.paths[row], manifest.splits[row], box)
        if key in seen:
            repeats.append(row)
        seen.add(key)
    return repeats


def _suspects(paths: TextArray) -> NDArray[np.intp]:
    """Return the rows whose path may come twice, in order.

    Hashes of a million paths are sorted in a tenth of the time that the paths take.
    """
    hashes = np.empty(len(paths), dtype=np.int64)
    for start in range(0, len(paths), _AT_ONCE):
        block = paths[start : start + _AT_ONCE].tolist()
        hashes[start : start + len(block)] = np.fromiter(map(hash, block), dtype=np.int64)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    return np.flatnonzero(np.isin(hashes, twice)) if len(twice) else np.zeros(0, dtype=np.intp)
