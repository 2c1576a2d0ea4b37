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
from reid_plugin_datasets.lists import read_last_numbers, read_words
from reid_plugin_datasets.rows import Row, manifest_of

_FOLDERS: dict[Split, str] = {
    "train": "image_train",
    "query": "image_query",
    "gallery": "image_test",
}
_NAME = re.compile(r"(\d+)_c(\d{3})")
#: Files that list the tracks of the test, a line each.
_TRACKS = ("test_track.txt", "test_track_VeRi.txt")
#: The track of images that are in none.
_NO_TRACK = -1
#: Training images and vehicles as the set's description counts them, and of copies that lack one.
_TRAIN, _TRAIN_LACKING_ONE = Count(37778, 576), Count(37746, 575)


def veri776(root: str | Path, views: list[str] | None = None) -> Manifest:
    """Read VeRi-776.

    A file is named ``0001_c001_00016450_0.jpg``: identity 1, camera 1 of 20. Training and test
    have 576 and 200 identities, none in common.

    Where the set's ``test_track.txt`` (or ``test_track_VeRi.txt``) is there, the column
    ``tracklets`` says which test images are one track: the number of its line, from 1, empty lines
    not counted. It is -1 for images in no line. By it the protocol ``veri776_tracks`` finds tracks.

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
    columns = {} if views is None else {"viewids": _views(folder, rows, views)}
    notes = []
    tracks = _tracks(folder, rows)
    if isinstance(tracks, str):
        notes.append(tracks)
    elif tracks is not None:
        columns["tracklets"] = tracks
    trained = [row.pid for row in rows if row.split == "train"]
    lacks_one = Count(len(trained), len(set(trained))) == _TRAIN_LACKING_ONE
    return manifest_of(
        rows,
        dataset="veri776",
        root=folder,
        matches=list(matches.values()),
        notes=[
            *(["a copy with 575 of the 576 training vehicles, as others have too"] * lacks_one),
            *notes,
        ],
        columns=columns,
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


def _tracks(folder: Path, rows: list[Row]) -> NDArray[np.int64] | str | None:
    """Return the track of each row; why they cannot be told; or None where no file has them."""
    found = [folder / name for name in _TRACKS if (folder / name).is_file()]
    if not found:
        return None
    table = {
        image: number
        for number, words in enumerate(read_words(found[0], dataset="veri776"), 1)
        for image in words
        if _NAME.match(image) and "." in image
    }
    tracks = [table.get(row.path.rpartition("/")[2], _NO_TRACK) for row in rows]
    alone = [
        row.path
        for row, track in zip(rows, tracks, strict=True)
        if row.split == "gallery" and track == _NO_TRACK
    ]
    if alone:
        return (
            f"tracks left out: {len(alone)} gallery images are in no line of {found[0].name}, for "
            f"example {alone[0]}"
        )
    mixed = _mixed_track(rows, tracks)
    if mixed is not None:
        return (
            f"tracks left out: line {mixed} of {found[0].name} has images of several vehicles or "
            "cameras"
        )
    return np.array(tracks, dtype=np.int64)


def _mixed_track(rows: list[Row], tracks: list[int]) -> int | None:
    """Return a track whose images are of several vehicles or cameras, if there is one."""
    known: dict[int, tuple[int | str, int | str]] = {}
    for row, track in zip(rows, tracks, strict=True):
        seen = (row.pid, row.camid)
        if track != _NO_TRACK and known.setdefault(track, seen) != seen:
            return track
    return None
