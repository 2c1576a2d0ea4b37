"""VehicleID: vehicles without cameras, and galleries of one image an identity."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Manifest, Split
from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.lists import read_pairs

_LISTS = {
    "small": "test_list_800.txt",
    "medium": "test_list_1600.txt",
    "large": "test_list_2400.txt",
}
_TRAIN = "train_list.txt"


def vehicleid(
    root: str | Path, size: Literal["small", "medium", "large"] = "small", draw: int = 0
) -> Manifest:
    """Read VehicleID.

    A line of ``train_test_split/train_list.txt`` is ``0042 1178``: image ``image/0042.jpg`` of
    vehicle 1178. The data set does not say which camera took an image. So every image counts as a
    camera of its own here, and a protocol that leaves out matches of the query's camera leaves out
    nothing.

    Of every test identity one image, drawn at random, is the gallery; the others are the queries.
    Published figures are means over ten draws: evaluate with ``draw`` 0 to 9.

    Args:
        root: The folder with ``image`` and ``train_test_split``, or the one above ``VehicleID`` or
            ``VehicleID_V1.0``. A relative path is also looked for under ``REID_DATASETS``.
        size: The test list of 800, 1,600 or 2,400 identities.
        draw: Number of the draw of the gallery, 0 or more; the same number draws the same images.

    Returns:
        The manifest: training, queries and gallery in the order of the lists.

    Raises:
        DataError: Folders or lists are not as described, or ``draw`` is negative.

    Source: Liu et al., Deep Relative Distance Learning: Tell the Difference Between Similar
        Vehicles, CVPR 2016.
    """
    if size not in _LISTS:
        raise DataError(f"data set vehicleid: size is {size!r}; expected small, medium or large")
    if draw < 0:
        raise DataError(f"data set vehicleid: draw is {draw}; expected 0 or more")
    folder = find_folder(
        root,
        dataset="vehicleid",
        nested=("VehicleID", "VehicleID_V1.0", "vehicleid"),
        expected=("image", f"train_test_split/{_TRAIN}", f"train_test_split/{_LISTS[size]}"),
    )
    trained = read_pairs(folder / "train_test_split" / _TRAIN, dataset="vehicleid")
    tested = read_pairs(folder / "train_test_split" / _LISTS[size], dataset="vehicleid")
    splits = _draw_gallery([vehicle for _, vehicle in tested], draw)
    rows = [*trained, *tested]
    return Manifest(
        name="vehicleid",
        root=folder,
        paths=np.array([f"image/{image}.jpg" for image, _ in rows]),
        pids=np.array([vehicle for _, vehicle in rows], dtype=np.int64),
        camids=np.arange(len(rows), dtype=np.int64),
        splits=np.array(["train"] * len(trained) + splits),
        notes=(
            "no cameras are known: every image counts as a camera of its own, so that no match is "
            "left out",
            f"gallery: one image an identity, draw {draw} ({_LISTS[size]}); published figures are "
            "means over ten draws",
        ),
    )


def _draw_gallery(vehicles: list[int], draw: int) -> list[Split]:
    """Return the split of each row: one row of each vehicle is the gallery."""
    rows: dict[int, list[int]] = {}
    for row, vehicle in enumerate(vehicles):
        rows.setdefault(vehicle, []).append(row)
    rng = np.random.default_rng(np.random.SeedSequence(draw))
    splits: list[Split] = ["query"] * len(vehicles)
    for vehicle in sorted(rows):
        splits[rows[vehicle][int(rng.integers(len(rows[vehicle])))]] = "gallery"
    return splits
