"""VeRi-776: vehicles seen by twenty cameras."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.lists import read_last_numbers
from reid_plugin_datasets.rows import Row, manifest_of

_FOLDERS: dict[Split, str] = {
    "train": "image_train",
    "query": "image_query",
    "gallery": "image_test",
}
_NAME = re.compile(r"(\d+)_c(\d{3})")
#: Training images and vehicles as the set's description counts them, and of copies that lack one.
_TRAIN, _TRAIN_LACKING_ONE = Count(37778, 576), Count(37746, 575)


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
        root,
        dataset="veri776",
        nested=("VeRi", "veri", "VeRi-776"),
        expected=tuple(_FOLDERS.values()),
    )
    matches = {
        split: matching(
            folder,
            _NAME,
            dataset="veri776",
            example="0001_c001_00016450_0.jpg",
            inside=inside,
            required=True,
        )
        for split, inside in _FOLDERS.items()
    }
    rows = [
        Row(path, int(match[1]), int(match[2]), split)
        for split, one in matches.items()
        for path, match in one.found
    ]
    trained = [row.pid for row in rows if row.split == "train"]
    lacks_one = Count(len(trained), len(set(trained))) == _TRAIN_LACKING_ONE
    return manifest_of(
        rows,
        dataset="veri776",
        root=folder,
        matches=list(matches.values()),
        notes=["a copy with 575 of the 576 training vehicles, as others have too"]
        if lacks_one
        else [],
        columns={} if views is None else {"viewids": _views(folder, rows, views)},
        expected={
            "train": _TRAIN_LACKING_ONE if lacks_one else _TRAIN,
            "query": Count(1678, 200),
            "gallery": Count(11579, 200),
        },
    )


def _views(folder: Path, rows: list[Row], files: list[str]) -> NDArray[np.int64]:
    table: dict[str, int] = {}
    for file in files:
        beside = folder / file
        path = beside if beside.is_file() else resolve_root(file)
        if not path.is_file():
            raise DataError(
                f"data set veri776: there is no file {beside}, nor {path.absolute()}; set views to "
                "files with a line an image"
            )
        table |= read_last_numbers(path, dataset="veri776")
    names = [row.path.rpartition("/")[2] for row in rows]
    missing = [name for name in names if name not in table]
    if missing:
        raise DataError(
            f"data set veri776: {len(missing)} of {len(names)} images have no view in "
            f"{', '.join(files)}, for example {', '.join(missing[:3])}; expected a line for each "
            "image"
        )
    return np.array([table[name] for name in names], dtype=np.int64)
