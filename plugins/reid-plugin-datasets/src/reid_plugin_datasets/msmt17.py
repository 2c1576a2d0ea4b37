"""MSMT17, version 1 and version 2."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.lists import read_pairs

#: Folders of the training and of the test images, by version.
_FOLDERS = {"V1": ("train", "test"), "V2": ("mask_train_v2", "mask_test_v2")}
_LISTS: tuple[tuple[str, int, Split], ...] = (
    ("list_train.txt", 0, "train"),
    ("list_val.txt", 0, "train"),
    ("list_query.txt", 1, "query"),
    ("list_gallery.txt", 1, "gallery"),
)
_EXAMPLE = "0000_000_01_0303morning_0015_0.jpg"


def msmt17(
    root: str | Path,
    version: Literal["V1", "V2"] = "V1",
    validation: Literal["train", "out"] = "train",
) -> Manifest:
    """Read MSMT17.

    A line of ``list_train.txt`` is ``0000/0000_000_01_0303morning_0015_0.jpg 0``: the third part of
    the file's name is the camera, 1 to 15, the number the identity. Identities of the test count
    from 0 again; here they follow those of the training. Files that no list names are not read.

    Args:
        root: The folder that holds the four lists, or one above ``MSMT17_V1`` or ``MSMT17_V2``. A
            relative path is also looked for under ``REID_DATASETS``.
        version: ``V2`` is the release with masked faces.
        validation: Whether the images of ``list_val.txt`` are trained on, as most published results
            do (1,041 identities in 32,621 images), or left out.

    Returns:
        The manifest, in the order of the lists; cameras as in the names.

    Raises:
        ConfigError: Another ``version`` or ``validation``.
        DataError: Folder, lists or files are not as described.

    Source: Wei et al., Person Transfer GAN to Bridge Domain Gap for Person Re-identification,
        CVPR 2018.
    """
    if version not in _FOLDERS:
        raise ConfigError(f"data set msmt17: version is {version!r}; expected V1 or V2")
    if validation not in ("train", "out"):
        raise ConfigError(f"data set msmt17: validation is {validation!r}; expected train or out")
    folder = _find(root, version)
    lists = [
        (name, f"{_FOLDERS[version][place]}/", split, _read(folder, name))
        for name, place, split in _LISTS
        if name != "list_val.txt" or validation == "train"
    ]
    first_of_test = 1 + max(
        pid for _, _, split, rows in lists if split == "train" for _, pid in rows
    )
    camids = [_camera(image, name) for name, _, _, rows in lists for image, _ in rows]
    notes = [f"version {version}", f"list_val.txt: {validation}"]
    for name, inside, _, rows in lists:
        paths = [inside + image for image, _ in rows]
        notes += require_images(folder, paths, dataset="msmt17", source=name)
    return Manifest(
        name="msmt17" if version == "V1" else "msmt17_v2",
        root=folder,
        paths=np.array([inside + image for _, inside, _, rows in lists for image, _ in rows]),
        pids=np.array(
            [
                pid if split == "train" else pid + first_of_test
                for _, _, split, rows in lists
                for _, pid in rows
            ],
            dtype=np.int64,
        ),
        camids=np.array(camids, dtype=np.int64),
        splits=np.array([split for _, _, split, rows in lists for _ in rows]),
        notes=tuple(notes),
        expected=_expected(validation) if version == "V1" else {},
    )


def _read(folder: Path, name: str) -> list[tuple[str, int]]:
    pairs = read_pairs(folder / name, dataset="msmt17")
    return [(image.replace("\\", "/"), pid) for image, pid in pairs]


def _find(root: str | Path, version: str) -> Path:
    try:
        return _find_version(root, version)
    except DataError:
        other = "V2" if version == "V1" else "V1"
        try:
            found = _find_version(root, other)
        except DataError:
            pass
        else:
            raise DataError(
                f"data set msmt17: {found} holds version {other}, and version is {version}; set "
                f"version: {other}, or root to the folder that holds {_FOLDERS[version][0]}"
            ) from None
        raise


def _find_version(root: str | Path, version: str) -> Path:
    return find_folder(
        root,
        dataset="msmt17",
        nested=(f"MSMT17_{version}", f"msmt17/MSMT17_{version}"),
        expected=(*_FOLDERS[version], *(name for name, _, _ in _LISTS)),
    )


def _expected(validation: str) -> dict[str, Count]:
    return {
        "train": Count(32621 if validation == "train" else 30248, 1041),
        "query": Count(11659, 3060),
        "gallery": Count(82161, 3060),
    }


def _camera(image: str, name: str) -> int:
    parts = image.rpartition("/")[2].split("_")
    if len(parts) > 2 and parts[2].isdigit():
        return int(parts[2])
    raise DataError(
        f"data set msmt17: {name} names {image!r}; expected a file name like {_EXAMPLE}, whose "
        "third part is the camera"
    )
