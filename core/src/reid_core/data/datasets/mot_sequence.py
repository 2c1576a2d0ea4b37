"""Sequences of MOTChallenge: a folder with images, ground truth, and what is said of them."""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.image_files import is_image_name, name_of
from reid_core.data.datasets.missing_places import describe_nearest, first_names
from reid_core.data.datasets.mot_boxes import Boxes
from reid_core.errors import DataError
from reid_core.wording import counted

GROUND_TRUTH = "gt/gt.txt"
_INFO = "seqinfo.ini"
_FOLDER = "img1"
#: Folders between the root and a sequence at most, such as MOT17/train.
_DEPTH = 2
#: MOT17 has each sequence three times, with the detections of three detectors.
_DETECTORS = ("-DPM", "-FRCNN", "-SDP")


@dataclass(frozen=True)
class Sequence:
    """A sequence.

    Args:
        name: Its folder's name.
        path: The folder, relative to the root, with forward slashes; empty for the root itself.
        images: The folder of its images, relative to its own.
        frame_rate: Images a second; None where it is not said.
        size: Width and height of its images; None where it is not said.
    """

    name: str
    path: str
    images: str = _FOLDER
    frame_rate: float | None = None
    size: tuple[int, int] | None = None

    def folder(self, root: Path) -> Path:
        """Return the sequence's folder."""
        return root / self.path

    def image_folder(self, root: Path) -> Path:
        """Return the folder of its images."""
        return self.folder(root) / self.images


def find_sequences(root: Path, *, what: str) -> tuple[list[Sequence], list[str]]:
    """Find the sequences below a folder, or the folder itself.

    Args:
        root: An existing folder.
        what: The data set, for messages.

    Returns:
        The sequences, sorted by path, and notes about those that are not used.

    Raises:
        DataError: There is none.
    """
    found, without = _search(root)
    if not found:
        seen = first_names(without or sorted(p.name for p in root.iterdir() if p.is_dir()))
        raise DataError(
            f"{what}: there is no {GROUND_TRUTH} in {root} or in a folder of it; it holds the "
            f"folders {seen}; name the folder that holds sequences, SEQUENCE/{_FOLDER} and "
            f"SEQUENCE/{GROUND_TRUTH}: {how_to_set('root', 'FOLDER')}"
        )
    notes = []
    if without:
        number = counted(len(without), "sequence")
        notes.append(f"{number} without ground truth, for example {without[0]}")
    kept = {_base(path): path for path in sorted(found, reverse=True)}
    if len(kept) < len(found):
        dropped = sorted(set(found) - set(kept.values()))
        notes.append(
            f"{counted(len(dropped), 'sequence')} left out, read with another detector already, "
            f"for example {dropped[0]}"
        )
    return [_described(root, path, what) for path in sorted(kept.values())], notes


def frame_paths(sequence: Sequence, root: Path, found: Boxes, *, what: str) -> list[str]:
    """Return the path of each box's image, relative to the root.

    Args:
        sequence: The sequence.
        root: The root.
        found: Its boxes, M of them.
        what: The data set, for messages.

    Returns:
        M paths.

    Raises:
        DataError: The folder is not there, two images have one number, or a frame has no image.
    """
    folder = sequence.image_folder(root)
    images = _numbered(folder, what)
    missing = np.flatnonzero(~np.isin(found.frames, np.array(list(images), dtype=np.int64)))
    if len(missing):
        row = int(missing[0])
        raise DataError(
            f"{what}: {sequence.folder(root) / GROUND_TRUTH}, line {found.lines[row]}: there is no "
            f"image of frame {found.frames[row]} in {folder}, nor of "
            f"{len(np.unique(found.frames[missing])) - 1} others; it holds "
            f"{counted(len(images), 'image')}, {first_names(images.values())}"
        )
    prefix = "/".join(part for part in (sequence.path, sequence.images) if part)
    return [f"{prefix}/{images[frame]}" for frame in found.frames.tolist()]


def outside(sequence: Sequence, found: Boxes) -> NDArray[np.bool_]:
    """Return which boxes lie beside the image, (M,) bool; none where its size is not said."""
    if sequence.size is None:
        return np.zeros(len(found), dtype=bool)
    corner = found.boxes[:, :2]
    is_past = corner >= np.array(sequence.size)
    return np.asarray((is_past | (corner + found.boxes[:, 2:] <= 0)).any(axis=1), dtype=bool)


def _search(root: Path) -> tuple[list[str], list[str]]:
    found: list[str] = []
    without: list[str] = []
    todo = [("", 0)]
    while todo:
        path, depth = todo.pop()
        if (root / path / GROUND_TRUTH).is_file():
            found.append(path)
        elif (root / path / _INFO).is_file() or (root / path / _FOLDER).is_dir():
            without.append(path or name_of(root))
        elif depth <= _DEPTH:
            with os.scandir(root / path) as entries:
                todo += [
                    (f"{path}/{entry.name}" if path else entry.name, depth + 1)
                    for entry in entries
                    if entry.is_dir() and not entry.name.startswith(".")
                ]
    return found, sorted(without)


def _base(path: str) -> str:
    detector = next((name for name in _DETECTORS if path.endswith(name)), "")
    return path.removesuffix(detector)


def _described(root: Path, path: str, what: str) -> Sequence:
    name = path.rpartition("/")[2] or name_of(root)
    file = root / path / _INFO
    if not file.is_file():
        return Sequence(name, path)
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(file.read_text(encoding="utf-8-sig"))
        info: Mapping[str, str] = parser["Sequence"]
        rate = float(info["frameRate"]) if "frameRate" in info else None
        has_size = "imWidth" in info and "imHeight" in info
        size = (int(info["imWidth"]), int(info["imHeight"])) if has_size else None
    except (configparser.Error, KeyError, ValueError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{what}: {file} cannot be understood: {reason}; expected [Sequence] with imDir, "
            "frameRate, imWidth and imHeight"
        ) from error
    images = info.get("imDir", _FOLDER).strip().strip("/")
    return Sequence(name, path, images, rate if rate and rate > 0 else None, size)


def _numbered(folder: Path, what: str) -> dict[int, str]:
    """Return the images' names by their numbers, in order."""
    if not folder.is_dir():
        raise DataError(
            f"{what}: there is no folder of images {folder}{describe_nearest(folder)}; expected "
            f"{folder / '000001.jpg'} and so on"
        )
    numbered: dict[int, str] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 — names are enough
        stem = name.rpartition(".")[0]
        if is_image_name(name) and stem.isascii() and stem.isdigit():
            if int(stem) in numbered:
                raise DataError(
                    f"{what}: {folder} has two images of frame {int(stem)}, "
                    f"{numbered[int(stem)]} and {name}; remove one"
                )
            numbered[int(stem)] = name
    return dict(sorted(numbered.items()))
