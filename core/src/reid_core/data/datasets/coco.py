"""A COCO file whose annotations say who is in the box."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reid_core.data.datasets.coco_file import CocoFile, read_coco
from reid_core.data.datasets.coco_rows import (
    CocoKeys,
    CocoRow,
    further_columns,
    notes_of,
    read_rows,
    required_texts,
)
from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.missing_places import (
    describe_nearest,
    require_file,
    require_folder,
)
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.boxes import require_pixels
from reid_core.data.datasets.tables.paths import place_paths
from reid_core.data.datasets.tables.rows import NoBox
from reid_core.data.datasets.tables.table import Table
from reid_core.data.datasets.text_ids import id_column
from reid_core.data.manifest import SPLITS, Manifest, Split, TextArray, no_cameras, text_column
from reid_core.errors import DataError
from reid_core.paths import resolve_root

#: Keys of images that may say which camera took them, for a hint.
_CAMERA_KEYS = ("camera", "camera_id", "cam_id", "camid", "location", "site")
#: How many images are looked for in each folder that may be the images' one.
_TRIED = 10
_ADVICE = f"set root to the folder that the file names start at: {how_to_set('root', 'FOLDER')}"


def coco(
    file: str | Path,
    *,
    root: str | Path | None = None,
    identity: str | None = None,
    camera: str | None = None,
    time: str | None = None,
    sequence: str | None = None,
    frame: str | None = None,
    split: str | None = None,
    splits: Mapping[str, Split | None] | None = None,
    no_box: NoBox = "whole",
    title: str | None = None,
) -> Manifest:
    """Read a COCO file, such as those of camera traps.

    A row is an annotation with an identity; its box is the crop, its category the ``species``.
    Annotations without an identity, of crowds, and with a box of no size are left out. How many is
    noted. A key may stand inside of another: ``attributes.individual``.

    Args:
        file: The JSON file. A relative path is also looked for under ``REID_DATASETS``.
        root: The folder that ``file_name`` starts at; null looks in the file's folder and the one
            above it, and in ``images`` in either.
        identity: The annotations' key that says who it is; null takes ``identity``,
            ``individual_id``, ``individual``, ``pid``, ``track_id`` or ``name``, if one is there.
        camera: The images' key that says which camera took them, such as ``location``; null: the
            data knows no cameras.
        time: The images' key for the time: seconds, or a date such as ``2024-05-31 17:45:00``.
        sequence: The images' key for the recording, such as ``seq_id``.
        frame: The images' key for the number in the recording, such as ``frame_num``.
        split: The images' key for the split; null: all are trained on.
        splits: What the data's own names of splits stand for; null leaves those images out.
        no_box: What an annotation without a box is: the ``whole`` image, or left out, ``drop``.
        title: What the data is called in results; null is the file's name.

    Returns:
        The manifest, in the order train, query, gallery, paths sorted, annotations as in the file.

    Raises:
        ConfigError: ``splits`` cannot be.
        DataError: The file is not there or cannot be understood, or the images are not there.

    Source: Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; the keys of images are
    those of COCO Camera Traps.
    """
    place = resolve_root(file)
    name = title or place.stem
    what = f"data set {name}"
    require_file(place, what=what, advice="set file to the JSON file with the annotations")
    content = read_coco(place, what=f"{what} ({place})")
    keys = CocoKeys(content.identity_key(identity), camera, time, sequence, frame, split)
    for parameter, key in keys.of_images().items():
        content.require_key(key, parameter)
    notes: Counter[str] = Counter()
    rows = read_rows(content, keys, SplitNames(splits, what=what), no_box, notes)
    if not rows:
        raise DataError(
            f"{content.what}: no annotation is left of {len(content.annotations)}: "
            f"{'; '.join(notes_of(notes)) or 'there is none'}; expected some with {keys.identity}"
        )
    rows.sort(key=lambda row: (SPLITS.index(row.split), row.path, row.number))
    boxes = np.array([row.box for row in rows], dtype=np.float64)
    require_pixels(boxes, what=content.what)
    start, paths = _place(root, place, rows, what)
    return Manifest(
        name=name,
        root=start,
        paths=paths,
        pids=id_column(row.pid for row in rows),
        camids=id_column(required_texts(content, rows, camera, "camera"))
        if camera
        else no_cameras(len(rows)),
        splits=np.array([row.split for row in rows]),
        notes=(*notes_of(notes), *_camera_hint(content, camera)),
        columns={"boxes": boxes, **further_columns(content, rows, keys)},
        has_cameras=camera is not None,
    )


def _camera_hint(content: CocoFile, camera: str | None) -> list[str]:
    found = [key for key in _CAMERA_KEYS if key in content.image_keys()]
    if camera is not None or not found:
        return []
    return [
        f"the images have the key {found[0]}; if it says which camera took them, type "
        f"{how_to_set('camera', found[0])}"
    ]


def _place(
    root: str | Path | None, file: Path, rows: list[CocoRow], what: str
) -> tuple[Path, TextArray]:
    """Return the folder that the images are in, and their paths below it."""
    written = text_column(row.path for row in rows)
    table = Table(what, written, {}, lambda row: f"annotations[{rows[row].number}]")
    given = None if root is None else resolve_root(root)
    start, paths = place_paths(table, given, file.parent)
    if given is not None:
        require_folder(given, what=what, advice=_ADVICE)
    folders = [start]
    if start == file.parent and given is None:
        above = (start, start.absolute().parent)
        folders = [one / inner for one in above for inner in ("", "images")]
    tried = paths[:: max(1, len(paths) // _TRIED)][:_TRIED].tolist()
    for folder in folders:
        if any((folder / path).is_file() for path in tried):
            return folder, paths
    raise DataError(
        f"{what}: none of {len(tried)} images that were looked for, for example {tried[0]}, is in "
        f"{', '.join(map(str, folders))}{describe_nearest(folders[0] / tried[0])}; {_ADVICE}"
    )
