"""MSMT17, version 1 and version 2."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Manifest, Split
from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.lists import read_pairs

#: Folders of the training and of the test images, by version.
_FOLDERS = {"V1": ("train", "test"), "V2": ("mask_train_v2", "mask_test_v2")}


def msmt17(
    root: str | Path,
    version: Literal["V1", "V2"] = "V1",
    validation: Literal["train", "out"] = "train",
) -> Manifest:
    """Read MSMT17.

    A line of ``list_train.txt`` is ``0000/0000_000_01_0303morning_0015_0.jpg 0``: the third part of
    the file's name is the camera, 1 to 15, the number the identity. Identities of the test count
    from 0 again; here they follow those of the training.

    Args:
        root: The folder that holds the four lists, or one above ``MSMT17_V1`` or ``MSMT17_V2``. A
            relative path is also looked for under ``REID_DATASETS``.
        version: ``V2`` is the release with masked faces.
        validation: Whether the images of ``list_val.txt`` are trained on, as most published results
            do (1,041 identities in 32,621 images), or left out.

    Returns:
        The manifest, in the order of the lists; cameras as in the names.

    Raises:
        DataError: Folder, lists or files are not as described.

    Source: Wei et al., Person Transfer GAN to Bridge Domain Gap for Person Re-identification,
        CVPR 2018.
    """
    if version not in _FOLDERS:
        raise DataError(f"data set msmt17: version is {version!r}; expected V1 or V2")
    trained, tested = _FOLDERS[version]
    lists: list[tuple[str, str, Split]] = [
        ("list_train.txt", trained, "train"),
        ("list_val.txt", trained, "train"),
        ("list_query.txt", tested, "query"),
        ("list_gallery.txt", tested, "gallery"),
    ]
    folder = find_folder(
        root,
        dataset="msmt17",
        nested=(f"MSMT17_{version}", f"msmt17/MSMT17_{version}"),
        expected=(trained, tested, *(name for name, _, _ in lists)),
    )
    if validation == "out":
        del lists[1]
    rows = [
        (f"{inside}/{image}", pid, _camera(image, name), split)
        for name, inside, split in lists
        for image, pid in read_pairs(folder / name, dataset="msmt17")
    ]
    first_of_test = 1 + max(pid for _, pid, _, split in rows if split == "train")
    return Manifest(
        name="msmt17" if version == "V1" else "msmt17_v2",
        root=folder,
        paths=np.array([path for path, _, _, _ in rows]),
        pids=np.array(
            [pid if split == "train" else pid + first_of_test for _, pid, _, split in rows],
            dtype=np.int64,
        ),
        camids=np.array([camera for _, _, camera, _ in rows], dtype=np.int64),
        splits=np.array([split for _, _, _, split in rows]),
        notes=(f"version {version}", f"list_val.txt: {validation}"),
    )


def _camera(image: str, name: str) -> int:
    parts = image.rpartition("/")[2].split("_")
    if len(parts) > 2 and parts[2].isdigit():
        return int(parts[2])
    raise DataError(
        f"data set msmt17: {name} names {image!r}; expected a file name like "
        "0000_000_01_0303morning_0015_0.jpg, whose third part is the camera"
    )
