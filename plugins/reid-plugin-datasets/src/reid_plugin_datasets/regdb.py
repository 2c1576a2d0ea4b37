"""RegDB: the same people in visible light and by their warmth."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from reid_core.data.manifest import Count, Manifest, Split
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.lists import read_pairs
from reid_plugin_datasets.parameters import require_between, require_choice
from reid_plugin_datasets.rows import Row, manifest_of

#: What is searched for, and in what.
Direction = Literal["visible_to_thermal", "thermal_to_visible"]

#: The two cameras of the device that took all images.
_CAMERAS = {"visible": 1, "thermal": 2}


def regdb(
    root: str | Path, trial: int = 1, direction: Direction = "visible_to_thermal"
) -> Manifest:
    """Read RegDB.

    Each of the 412 people was taken ten times by a pair of cameras, one for visible light and one
    for heat. ``idx`` cuts them into halves for training and test, in ten ways: a line of
    ``idx/train_visible_1.txt`` is ``Visible/1/male_back_v_02167_1.bmp 0``, an image and an
    identity. Identities of the test count from 0 again; here they follow those of the training.
    Published figures are means over the ten trials.

    The column ``modalities`` is ``rgb`` or ``infrared``. The two cameras are 1 (visible) and 2
    (thermal). Queries are of one and the gallery of the other, so a protocol that leaves out
    matches of the query's own camera leaves out nothing.

    Args:
        root: The folder with ``idx``, ``Visible`` and ``Thermal``, or the one above ``RegDB``. A
            relative path is also looked for under ``REID_DATASETS``.
        trial: Number of the cut, 1 to 10.
        direction: Which images are the queries and which the gallery.

    Returns:
        The manifest, in the order train, query, gallery, as in the lists, visible before thermal.

    Raises:
        ConfigError: A parameter is wrong.
        DataError: Folders or lists are not as described.

    Source: Nguyen et al., Person Recognition System Based on a Combination of Body Images from
        Visible Light and Thermal Cameras, Sensors 2017; the trials: Ye et al., Hierarchical
        Discriminative Learning for Visible Thermal Person Re-Identification, AAAI 2018.
    """
    require_between(trial, 1, 10, name="trial", dataset="regdb")
    require_choice(direction, get_args(Direction), name="direction", dataset="regdb")
    sought, held = direction.split("_to_")
    lists: list[tuple[str, str, Split]] = [
        ("train", "visible", "train"),
        ("train", "thermal", "train"),
        ("test", sought, "query"),
        ("test", held, "gallery"),
    ]
    names = [f"idx/{part}_{modality}_{trial}.txt" for part, modality, _ in lists]
    folder = find_folder(
        root, dataset="regdb", nested=("RegDB", "regdb"), expected=("Visible", "Thermal", *names)
    )
    rows: list[Row] = []
    missing: list[str] = []
    first_of_test = 0
    for name, (_, modality, split) in zip(names, lists, strict=True):
        pairs = read_pairs(folder / name, dataset="regdb")
        paths = [image.replace("\\", "/") for image, _ in pairs]
        missing += require_images(folder, paths, dataset="regdb", source=name)
        if split == "train":
            first_of_test = max(first_of_test, *(1 + pid for _, pid in pairs))
        offset = 0 if split == "train" else first_of_test
        rows += [
            Row(path, pid + offset, _CAMERAS[modality], split)
            for path, (_, pid) in zip(paths, pairs, strict=True)
        ]
    return manifest_of(
        rows,
        dataset="regdb",
        root=folder,
        notes=(
            f"trial {trial} of 10, {direction}; published figures are means over the ten trials",
            *missing,
        ),
        expected={
            "train": Count(4_120, 206),
            "query": Count(2_060, 206),
            "gallery": Count(2_060, 206),
        },
        columns={
            "modalities": [
                "rgb" if row.camid == _CAMERAS["visible"] else "infrared" for row in rows
            ]
        },
    )
