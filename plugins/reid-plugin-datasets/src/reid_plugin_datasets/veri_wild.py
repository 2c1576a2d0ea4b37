"""VERI-Wild: vehicles seen by 174 cameras in a month."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images

_LISTS = "train_test_split"
_INFO = "vehicle_info.txt"
_TRAIN = "train_list.txt"
#: Identities of the test, one query each, and images of its gallery, by size.
_TESTS = {"small": (3000, 38861), "medium": (5000, 64389), "large": (10000, 128517)}


class _Seen(NamedTuple):
    """Where and when an image was taken."""

    camera: int
    time: str


def veri_wild(root: str | Path, size: Literal["small", "medium", "large"] = "small") -> Manifest:
    """Read VERI-Wild.

    A line of a list in ``train_test_split`` is ``00001/000001``: image
    ``images/00001/000001.jpg`` of vehicle 1. ``vehicle_info.txt`` says which camera took it and
    when: ``00001/000001;112;2018-03-11 06:52:04;…``, below a line of headings.

    Args:
        root: The folder with ``images`` and ``train_test_split``, or the one above ``VERI-Wild``. A
            relative path is also looked for under ``REID_DATASETS``.
        size: The test of 3,000, 5,000 or 10,000 vehicles, with ``test_3000.txt`` as gallery and
            ``test_3000_query.txt`` as queries, and so on.

    Returns:
        The manifest, in the order of the lists, with the column ``times`` in seconds since 1970 by
        the cameras' clocks; without it, and with a note, where a time is written in another way.

    Raises:
        ConfigError: Another ``size``.
        DataError: Folders, lists or files are not as described.

    Source: Lou et al., VERI-Wild: A Large Dataset and a New Method for Vehicle Re-Identification in
        the Wild, CVPR 2019.
    """
    if size not in _TESTS:
        raise ConfigError(f"data set veri_wild: size is {size!r}; expected small, medium or large")
    number, images = _TESTS[size]
    lists: dict[Split, str] = {
        "train": _TRAIN,
        "query": f"test_{number}_query.txt",
        "gallery": f"test_{number}.txt",
    }
    folder = find_folder(
        root,
        dataset="veri_wild",
        nested=("VERI-Wild", "veri-wild", "veri_wild", "veriwild"),
        expected=("images", *(f"{_LISTS}/{name}" for name in (*lists.values(), _INFO))),
    )
    seen = _read_info(folder / _LISTS / _INFO)
    names = {split: _read_list(folder / _LISTS / name, seen) for split, name in lists.items()}
    notes: list[str] = []
    for split, listed in names.items():
        paths = [f"images/{name}.jpg" for name in listed]
        notes += require_images(folder, paths, dataset="veri_wild", source=lists[split])
    rows = [name for listed in names.values() for name in listed]
    times = _times([seen[name].time for name in rows])
    if isinstance(times, str):
        notes.append(f"times left out: {times!r} in {_INFO} is not like 2018-03-11 06:52:04")
    return Manifest(
        name="veri_wild",
        root=folder,
        paths=np.array([f"images/{name}.jpg" for name in rows]),
        pids=np.array([int(name.partition("/")[0]) for name in rows], dtype=np.int64),
        camids=np.array([seen[name].camera for name in rows], dtype=np.int64),
        splits=np.repeat(list(names), [len(listed) for listed in names.values()]),
        notes=(f"test of {number} vehicles", *notes),
        columns={} if isinstance(times, str) else {"times": times},
        expected={
            "train": Count(277797, 30671),
            "query": Count(number, number),
            "gallery": Count(images, number),
        },
    )


def _read_info(path: Path) -> dict[str, _Seen]:
    seen: dict[str, _Seen] = {}
    # Image, camera and time are plain ASCII; names of models may be of another encoding.
    for number, line in enumerate(_lines(path, errors="replace"), 1):
        name, _, rest = line.partition(";")
        camera, _, rest = rest.partition(";")
        if camera.strip().isdigit():
            seen[_plain(name)] = _Seen(int(camera), rest.partition(";")[0].strip())
        elif number > 1 and line.strip():
            raise DataError(
                f"data set veri_wild: {path}, line {number}: {line[:60]!r} has no camera; expected "
                "a line like 00001/000001;112;2018-03-11 06:52:04;…"
            )
    if not seen:
        raise DataError(f"data set veri_wild: {path} holds no image below its headings")
    return seen


def _read_list(path: Path, seen: dict[str, _Seen]) -> list[str]:
    names = [_plain(words[0]) for line in _lines(path) if (words := line.split())]
    if not names:
        raise DataError(f"data set veri_wild: {path} holds no line")
    misnamed = [name for name in names if not name.partition("/")[0].isdigit() or "/" not in name]
    if misnamed:
        raise DataError(
            f"data set veri_wild: {path} names {', '.join(misnamed[:3])}; expected a vehicle and "
            "an image, like 00001/000001"
        )
    unknown = [name for name in names if name not in seen]
    if unknown:
        raise DataError(
            f"data set veri_wild: {len(unknown)} of the {len(names)} images of {path} are not in "
            f"{_INFO}, for example {', '.join(unknown[:3])}; expected each one there, with its "
            "camera"
        )
    return names


def _lines(path: Path, *, errors: Literal["strict", "replace"] = "strict") -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors=errors).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"data set veri_wild: {path} cannot be read: {error}") from error


def _plain(name: str) -> str:
    return name.strip().replace("\\", "/").removesuffix(".jpg")


def _times(texts: list[str]) -> NDArray[np.float64] | str:
    """Return (N,) seconds, or the first text that is no time."""
    try:
        times = np.array(texts, dtype="datetime64[s]")
    except ValueError:
        return next(text for text in texts if not _is_time(text))
    return times.astype(np.float64) if not np.isnat(times).any() else ""


def _is_time(text: str) -> bool:
    try:
        return not np.isnat(np.datetime64(text, "s"))
    except ValueError:
        return False
