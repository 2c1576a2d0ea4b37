"""MARS: people in video, cut into tracklets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Count, Manifest, Split, text_column
from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.matlab import read_variable
from reid_plugin_datasets.names import read_names
from reid_plugin_datasets.tracklets import View, chosen_frames, require_view, view_note

_NAME = re.compile(r"(\d{4})C(\d)T\d{4}F(\d{3,4})\.jpg", re.IGNORECASE)
_EXAMPLE = "0001C1T0001F001.jpg"
_INFO = (
    "info/train_name.txt",
    "info/test_name.txt",
    "info/tracks_train_info.mat",
    "info/tracks_test_info.mat",
    "info/query_IDX.mat",
)
_JUNK = -1


def mars(root: str | Path, view: View = "image", frames_per_tracklet: int = 8) -> Manifest:
    """Read MARS.

    A frame is named ``0001C1T0002F003.jpg``: identity 1, camera 1 of 6, second tracklet of the two,
    third frame. ``info`` holds the names of all frames, for each tracklet its first and last frame
    in that list, identity and camera, and which tracklets are queries; all other test tracklets are
    the gallery. Identity 0 is a distractor and stays in the gallery; identity -1 (``00-1``) is junk
    and dropped.

    Each row is a frame. The columns say what belongs together: ``tracklets``, the tracklet's line
    in ``tracks_train_info.mat`` from 1, those of ``tracks_test_info.mat`` counting on after them;
    and ``frames``, the frame's number in its name.

    Args:
        root: The folder with ``bbox_train``, ``bbox_test`` and ``info``, or the one above ``MARS``.
            A relative path is also looked for under ``REID_DATASETS``.
        view: ``image``: every frame is a row. ``tracklet``: at most ``frames_per_tracklet`` frames
            of each tracklet are, evenly spread over it, the first and the last among them.
        frames_per_tracklet: Frames of a tracklet in the view ``tracklet``, 1 or more.

    Returns:
        The manifest, in the order train, query, gallery, tracklets in the order of ``info``.

    Raises:
        ConfigError: A parameter is wrong.
        DataError: Folders, lists or tables are not as described, or scipy is not installed.

    Source: Zheng et al., MARS: A Video Benchmark for Large-Scale Person Re-identification,
        ECCV 2016.
    """
    require_view(view, frames_per_tracklet, dataset="mars")
    folder = find_folder(
        root,
        dataset="mars",
        nested=("MARS", "mars", "MARS-v160809"),
        expected=("bbox_train", "bbox_test", *_INFO),
    )
    trained = _tracklets(folder, "train", first_number=1)
    tested = _tracklets(folder, "test", first_number=1 + len(trained.starts))
    queries = read_variable(folder / _INFO[4], "query_IDX", dataset="mars").ravel() - 1
    if len(queries) and not 0 <= queries.min() <= queries.max() < len(tested.starts):
        raise DataError(
            f"data set mars: {folder / _INFO[4]} names tracklet {queries.max() + 1}, but "
            f"tracks_test_info.mat has {len(tested.starts)}"
        )
    is_query = np.isin(np.arange(len(tested.starts)), queries)
    parts: list[tuple[_Tracklets, NDArray[np.bool_], Split]] = [
        (trained, np.ones(len(trained.starts), dtype=np.bool_), "train"),
        (tested, is_query, "query"),
        (tested, ~is_query, "gallery"),
    ]
    blocks = [
        _rows(part.take(mask & (part.pids != _JUNK)), split, view, frames_per_tracklet)
        for part, mask, split in parts
    ]
    return _manifest(folder, blocks, view, frames_per_tracklet, (trained, tested))


@dataclass(frozen=True, eq=False)
class _Tracklets:
    """The tracklets of one folder; all arrays (T,), ``starts`` from 0."""

    inside: str
    names: Sequence[str]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    pids: NDArray[np.int64]
    camids: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def take(self, mask: NDArray[np.bool_]) -> _Tracklets:
        return _Tracklets(
            self.inside,
            self.names,
            self.starts[mask],
            self.lengths[mask],
            self.pids[mask],
            self.camids[mask],
            self.numbers[mask],
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    paths: list[str]
    pids: NDArray[np.int64]
    camids: NDArray[np.int64]
    split: Split
    tracklets: NDArray[np.int64]
    frames: NDArray[np.int64]
    num_tracklets: int


def _tracklets(folder: Path, part: str, *, first_number: int) -> _Tracklets:
    names = read_names(folder / f"info/{part}_name.txt", dataset="mars")
    path = folder / f"info/tracks_{part}_info.mat"
    table = read_variable(path, f"track_{part}_info", dataset="mars")
    if table.ndim != 2 or table.shape[1] != 4:
        raise DataError(
            f"data set mars: track_{part}_info in {path} is {table.shape}; expected (T, 4): first "
            "and last frame, identity, camera"
        )
    first, last, pids, camids = table.T
    wrong = np.flatnonzero((first < 1) | (last < first) | (last > len(names)))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"data set mars: tracklet {row + 1} of {path} has frames {first[row]} to {last[row]}, "
            f"but info/{part}_name.txt has {len(names)} names"
        )
    numbers = np.arange(len(table), dtype=np.int64) + first_number
    return _Tracklets(f"bbox_{part}", names, first - 1, last - first + 1, pids, camids, numbers)


def _rows(part: _Tracklets, split: Split, view: View, frames_per_tracklet: int) -> _Rows:
    positions, owners = chosen_frames(
        part.starts, part.lengths, view=view, frames_per_tracklet=frames_per_tracklet
    )
    pids, camids = part.pids[owners], part.camids[owners]
    paths, frames = [], []
    for position, pid, camid in zip(
        positions.tolist(), pids.tolist(), camids.tolist(), strict=True
    ):
        name = part.names[position]
        match = _NAME.fullmatch(name)
        if match is None or int(match[1]) != pid or int(match[2]) != camid:
            raise DataError(
                f"data set mars: line {position + 1} of the names of {part.inside} is {name!r}, "
                f"but its tracklet has identity {pid} and camera {camid}; expected names like "
                f"{_EXAMPLE} and tables of the same release"
            )
        paths.append(f"{part.inside}/{name[:4]}/{name}")
        frames.append(int(match[3]))
    return _Rows(
        paths,
        pids,
        camids,
        split,
        part.numbers[owners],
        np.array(frames, dtype=np.int64),
        len(part.starts),
    )


def _manifest(
    folder: Path,
    blocks: list[_Rows],
    view: View,
    frames_per_tracklet: int,
    parts: tuple[_Tracklets, _Tracklets],
) -> Manifest:
    notes = [view_note(view, frames_per_tracklet, sum(block.num_tracklets for block in blocks))]
    junk = sum(int((part.pids == _JUNK).sum()) for part in parts)
    if junk:
        notes.append(f"{junk} junk tracklets (identity -1) left out")
    for block, source in zip(blocks, (_INFO[0], _INFO[1], _INFO[1]), strict=True):
        notes += require_images(folder, block.paths, dataset="mars", source=source)
    return Manifest(
        name="mars",
        root=folder,
        paths=text_column([path for block in blocks for path in block.paths]),
        pids=np.concatenate([block.pids for block in blocks]),
        camids=np.concatenate([block.camids for block in blocks]),
        splits=np.repeat(
            np.array([block.split for block in blocks]), [len(block.paths) for block in blocks]
        ),
        notes=tuple(notes),
        columns={
            "tracklets": np.concatenate([block.tracklets for block in blocks]),
            "frames": np.concatenate([block.frames for block in blocks]),
        },
        distractors=(0,),
        expected={"train": Count(509_914, 625)} if view == "image" else {},
    )
