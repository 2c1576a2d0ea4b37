"""VeRi-776: vehicles seen by twenty cameras."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest, Split
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.folders import find_folder, images_in
from reid_plugin_datasets.lists import read_last_numbers

_FOLDERS: dict[Split, str] = {
    "train": "image_train",
    "query": "image_query",
    "gallery": "image_test",
}
_NAME = re.compile(r"(\d+)_c(\d{3})")


def veri776(root: str | Path, views: list[str] | None = None) -> Manifest:
    """Read VeRi-776.

    A file is named ``0001_c001_00016450_0.jpg``: identity 1, camera 1 of 20. Training and test
    have 576 and 200 identities, none in common.

    Args:
        root: The folder with ``image_train``, ``image_query`` and ``image_test``, or the one above
            ``VeRi``. A relative path is also looked for under ``REID_DATASETS``.
        views: Text files with a line an image, whose first word is the image and whose last the
            number of the side that is seen, as the published keypoint files have; they give the
            column ``viewids``. A relative path is looked for in the data set's folder too.

    Returns:
        The manifest, in the order train, query, gallery, files sorted.

    Raises:
        DataError: The folders are not there, no file in one is named like that, or an image has no
            view.

    Source: Liu et al., A Deep Learning-Based Approach to Progressive Vehicle Re-identification for
        Urban Surveillance, ECCV 2016.
    """
    folder = find_folder(
        root, dataset="veri776", nested=("VeRi", "veri"), expected=tuple(_FOLDERS.values())
    )
    rows: list[tuple[str, int, int, Split]] = []
    misnamed: list[str] = []
    for split, inside in _FOLDERS.items():
        for name in images_in(folder / inside):
            match = _NAME.match(name)
            if match is None:
                misnamed.append(name)
            else:
                rows.append((f"{inside}/{name}", int(match[1]), int(match[2]), split))
    for split, inside in _FOLDERS.items():
        if not any(row[3] == split for row in rows):
            seen = f"; names that do not fit: {', '.join(misnamed[:3])}" if misnamed else ""
            raise DataError(
                f"data set veri776: no usable image in {folder / inside}{seen}; expected names "
                "like 0001_c001_00016450_0.jpg"
            )
    paths = [path for path, _, _, _ in rows]
    notes = [f"{len(misnamed)} images ignored, for example {misnamed[0]}"] if misnamed else []
    return Manifest(
        name="veri776",
        root=folder,
        paths=np.array(paths),
        pids=np.array([pid for _, pid, _, _ in rows], dtype=np.int64),
        camids=np.array([camera for _, _, camera, _ in rows], dtype=np.int64),
        splits=np.array([split for _, _, _, split in rows]),
        notes=tuple(notes),
        columns={} if views is None else {"viewids": _views(folder, paths, views)},
    )


def _views(folder: Path, paths: list[str], files: list[str]) -> NDArray[np.int64]:
    table: dict[str, int] = {}
    for file in files:
        beside = folder / file
        path = beside if beside.is_file() else resolve_root(file)
        table |= read_last_numbers(path, dataset="veri776")
    names = [path.rpartition("/")[2] for path in paths]
    missing = [name for name in names if name not in table]
    if missing:
        raise DataError(
            f"data set veri776: {len(missing)} of {len(names)} images have no view in "
            f"{', '.join(files)}, for example {missing[0]}; expected a line for each image"
        )
    return np.array([table[name] for name in names], dtype=np.int64)
