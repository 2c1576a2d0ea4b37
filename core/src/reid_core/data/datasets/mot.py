"""Tracks of MOTChallenge: crops from image sequences by their ground truth."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets import mot_sequence
from reid_core.data.datasets.image_files import name_of
from reid_core.data.datasets.missing_places import require_folder
from reid_core.data.datasets.mot_boxes import UNKNOWN, Boxes, BoxRules, read_ground_truth
from reid_core.data.manifest import IdArray, Manifest, no_cameras, text_column
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_core.wording import counted

#: Whether a track is another identity in each sequence, or one over all.
Identities = Literal["sequence", "shared"]
_REASONS = {
    "flag": "which the ground truth says not to consider (flag 0)",
    "class": "of other classes",
    "visibility": "seen too little (min_visibility)",
    "height": "too low (min_height) or of no size",
    "outside": "beside the image",
    "every": "between the frames that are used (every)",
}


@dataclass(frozen=True, eq=False)
class _Part:
    sequence: mot_sequence.Sequence
    found: Boxes
    paths: list[str]


def mot(
    root: str | Path,
    *,
    every: int = 1,
    min_visibility: float = 0.0,
    min_height: float = 0.0,
    classes: Sequence[int] | None = (1,),
    identities: Identities = "sequence",
    origin: int = 1,
    title: str | None = None,
) -> Manifest:
    """Read the tracks of MOTChallenge's folders as crops.

    A sequence is a folder with ``img1/000001.jpg`` and so on, and ``gt/gt.txt``. How many boxes
    each rule leaves out is noted. MOT17 has every sequence three times; one of them is read.

    Args:
        root: The folder of sequences, one above it, or a sequence. A relative path is also looked
            for under ``REID_DATASETS``.
        every: Of the boxes that the other rules leave, the first of each track and each n-th after
            it are used, 1 or more; neighbouring frames are almost the same image.
        min_visibility: Boxes that are seen less are left out, 0 to 1.
        min_height: Lower boxes are left out, in pixels.
        classes: Classes that are used, where the ground truth tells them; 1 is a pedestrian. Null
            uses all.
        identities: ``sequence``: a track is somebody else in each sequence, and there are no
            cameras. ``shared``: a number is one identity in all, and each sequence is a camera.
        origin: The x and y that the ground truth gives the first pixel: 1 in MOTChallenge.
        title: What the data is called in results; null is the folder's name.

    Returns:
        The manifest, all to be trained on, sorted by sequence, track and frame.

    Raises:
        ConfigError: A number is out of its range.
        DataError: There is no sequence, a line of ground truth cannot be understood, its image is
            not there, or no box is left.

    Source: Milan et al., MOT16: A Benchmark for Multi-Object Tracking, arXiv:1603.00831.
    """
    rules = BoxRules(every, min_visibility, min_height, classes)
    place = resolve_root(root)
    name = title or name_of(place) or "mot"
    what = f"data set {name}"
    require_folder(place, what=what, advice="set root to the folder that holds the sequences")
    sequences, notes = mot_sequence.find_sequences(place, what=what)
    dropped: collections.Counter[str] = collections.Counter()
    parts = []
    for sequence in sequences:
        file = sequence.folder(place) / mot_sequence.GROUND_TRUTH
        found = read_ground_truth(file, what=what, origin=origin)
        notes += _what_is_not_told(sequence, found, rules)
        found = _apply(rules, sequence, found, dropped)
        parts.append(
            _Part(sequence, found, mot_sequence.frame_paths(sequence, place, found, what=what))
        )
    counts = [
        f"{counted(dropped[rule], 'box', 'boxes')} left out, {why}"
        for rule, why in _REASONS.items()
        if dropped[rule]
    ]
    if not any(len(part.found) for part in parts):
        raise DataError(f"{what}: no box is left: {'; '.join(counts)}; loosen the rules")
    return _manifest(name, place, parts, identities, (*notes, *counts))


def _apply(
    rules: BoxRules,
    sequence: mot_sequence.Sequence,
    found: Boxes,
    dropped: collections.Counter[str],
) -> Boxes:
    is_kept = np.ones(len(found), dtype=bool)
    masks = [*rules.masks(found).items(), ("outside", mot_sequence.outside(sequence, found))]
    for rule, is_out in masks:
        dropped[rule] += int((is_kept & is_out).sum())
        is_kept &= ~is_out
    kept = found.take(is_kept)
    sampled = rules.sample(kept)
    dropped["every"] += len(kept) - len(sampled)
    return sampled


def _what_is_not_told(sequence: mot_sequence.Sequence, found: Boxes, rules: BoxRules) -> list[str]:
    notes = []
    if rules.min_visibility > 0 and (found.visibility == UNKNOWN).any():
        notes.append(f"{sequence.name} does not tell visibility: min_visibility leaves nothing out")
    if rules.classes is not None and (found.classes == UNKNOWN).any():
        notes.append(f"{sequence.name} does not tell classes: all of its boxes are used")
    return notes


def _manifest(
    name: str, root: Path, parts: list[_Part], identities: Identities, notes: tuple[str, ...]
) -> Manifest:
    lengths = [len(part.found) for part in parts]
    sequences = np.repeat(_names(parts), lengths)
    tracks = np.concatenate([part.found.tracks for part in parts])
    numbers = np.repeat(np.arange(len(parts)), lengths)
    columns: dict[str, NDArray[np.generic]] = {
        "boxes": np.concatenate([part.found.boxes for part in parts]),
        "sequences": sequences,
        "tracklets": np.unique(np.stack([numbers, tracks]), axis=1, return_inverse=True)[1].ravel(),
        "frames": np.concatenate([part.found.frames for part in parts]),
        **_times(parts),
    }
    is_shared = identities == "shared"
    return Manifest(
        name=name,
        root=root,
        paths=text_column(path for part in parts for path in part.paths),
        pids=tracks if is_shared else _of_sequences(sequences, tracks),
        camids=sequences if is_shared else no_cameras(len(tracks)),
        splits=np.full(len(tracks), "train"),
        notes=notes,
        columns=columns,
        has_cameras=is_shared,
    )


def _names(parts: list[_Part]) -> NDArray[np.str_]:
    """Return the sequences' names, or their paths where two are called the same."""
    names = np.array([part.sequence.name for part in parts])
    if len(np.unique(names)) == len(names):
        return names
    return np.array([part.sequence.path for part in parts])


def _of_sequences(sequences: NDArray[np.str_], tracks: NDArray[np.int64]) -> IdArray:
    return np.strings.add(np.strings.add(sequences, "/"), tracks.astype(np.str_))


def _times(parts: list[_Part]) -> Mapping[str, NDArray[np.generic]]:
    """Return seconds from the first frame of each sequence, where every one says its rate."""
    rates = [part.sequence.frame_rate for part in parts]
    if None in rates:
        return {}
    times = [
        (part.found.frames - 1) / rate for part, rate in zip(parts, rates, strict=True) if rate
    ]
    return {"times": np.concatenate(times)}
