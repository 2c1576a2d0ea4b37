"""Files that one set trains on and another one tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.data.stores import FolderStore
from reid_core.doctor.finding import Finding, counted, some
from reid_core.doctor.listing import by_folder

#: An image, or a part of one: its folder, its name, its box.
_Image = tuple[str, str, bytes]


def check_shared_files(manifests: Sequence[Manifest]) -> Iterator[Finding]:
    """Find images that are trained on in one set and tested in another one, by their places.

    Args:
        manifests: The sets; those of one name are parts of one set, which is looked at elsewhere.
    """
    files = [one for one in manifests if isinstance(one.images, FolderStore)]
    told: set[tuple[str, str]] = set()
    for train, test in product(files, files):
        if train.name == test.name or (train.name, test.name) in told:
            continue
        if not (train.splits == "train").any() or not (test.splits != "train").any():
            continue
        if shared := _shared(train, test):
            told.add((train.name, test.name))
            yield Finding(
                "files-in-two-sets",
                "warning",
                test.name,
                f"{counted(len(shared), 'image of the test is', 'images of the test are')} trained "
                f"on in set {train.name}, which makes the test easier than it looks",
                "take them out of training, by a table without them, or test on others",
                len(shared),
                some(shared),
            )


def _shared(train: Manifest, test: Manifest) -> list[str]:
    """Return the places of the images that one set trains on and the other one tests, sorted."""
    train_rows, test_rows = train.splits == "train", test.splits != "train"
    train_folders, test_folders = _folders(train, train_rows), _folders(test, test_rows)
    common = set(train_folders.values()) & set(test_folders.values())
    if not common:
        return []
    images = _images(train, train_rows, train_folders, common)
    images &= _images(test, test_rows, test_folders, common)
    return sorted({os.path.join(folder, name) for folder, name, _ in images})  # noqa: PTH118


def _folders(manifest: Manifest, is_chosen: NDArray[np.bool_]) -> dict[str, str]:
    """Return for each folder of some rows where it really is, whatever links lead to it."""
    folders = by_folder(manifest.paths[is_chosen].tolist())
    return {folder: os.path.realpath(manifest.images.locate(folder)) for folder in folders}


def _images(
    manifest: Manifest, is_chosen: NDArray[np.bool_], folders: dict[str, str], common: set[str]
) -> set[_Image]:
    """Return the images of some rows that lie in some of the folders."""
    rows = np.flatnonzero(is_chosen)
    boxes = manifest.columns.get("boxes")
    images: set[_Image] = set()
    for row, path in zip(rows.tolist(), manifest.paths[rows].tolist(), strict=True):
        folder, _, name = path.rpartition("/")
        if folders[folder] in common:
            box = b"" if boxes is None else np.asarray(boxes[row], dtype=np.float64).tobytes()
            images.add((folders[folder], name, box))
    return images
