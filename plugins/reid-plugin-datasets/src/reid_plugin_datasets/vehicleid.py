"""VehicleID: vehicles without cameras, and galleries of one image an identity."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split, no_cameras
from reid_core.errors import ConfigError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.lists import read_pairs

_TRAIN = "train_list.txt"
#: Test list, its images and identities, by size.
_TESTS = {
    "small": ("test_list_800.txt", 6493, 800),
    "medium": ("test_list_1600.txt", 13377, 1600),
    "large": ("test_list_2400.txt", 19777, 2400),
}


def vehicleid(
    root: str | Path, size: Literal["small", "medium", "large"] = "small", draw: int = 0
) -> Manifest:
    """Read VehicleID.

    A line of ``train_test_split/train_list.txt`` is ``0042 1178``: image ``image/0042.jpg`` of
    vehicle 1178. The data set does not say which camera took an image, so no match is left out.

    Of every test identity one image, drawn at random, is the gallery; the others are the queries.
    Published figures are means over ten draws. The protocol ``vehicleid`` makes them from all of
    the test, whatever ``draw`` is; the cut that ``draw`` makes is for other protocols and tools.

    Args:
        root: The folder with ``image`` and ``train_test_split``, or the one above ``VehicleID`` or
            ``VehicleID_V1.0``. A relative path is also looked for under ``REID_DATASETS``.
        size: The test list of 800, 1,600 or 2,400 identities.
        draw: Number of the draw of the gallery, 0 or more; the same number draws the same images.

    Returns:
        The manifest, without cameras: training and test in the order of the lists.

    Raises:
        ConfigError: Another ``size``, or ``draw`` is negative.
        DataError: Folders, lists or files are not as described.

    Source: Liu et al., Deep Relative Distance Learning: Tell the Difference Between Similar
        Vehicles, CVPR 2016.
    """
    if size not in _TESTS:
        raise ConfigError(f"data set vehicleid: size is {size!r}; expected small, medium or large")
    if draw < 0:
        raise ConfigError(f"data set vehicleid: draw is {draw}; expected 0 or more")
    test, images, identities = _TESTS[size]
    folder = find_folder(
        root,
        dataset="vehicleid",
        nested=("VehicleID", "VehicleID_V1.0", "vehicleid"),
        expected=("image", f"train_test_split/{_TRAIN}", f"train_test_split/{test}"),
    )
    trained, tested = _read(folder, _TRAIN), _read(folder, test)
    missing = [
        note
        for name, rows in ((_TRAIN, trained), (test, tested))
        for note in require_images(folder, [p for p, _ in rows], dataset="vehicleid", source=name)
    ]
    rows = [*trained, *tested]
    return Manifest(
        name="vehicleid",
        root=folder,
        paths=np.array([path for path, _ in rows]),
        pids=np.array([vehicle for _, vehicle in rows], dtype=np.int64),
        camids=no_cameras(len(rows)),
        splits=np.array(
            ["train"] * len(trained) + _draw_gallery([vehicle for _, vehicle in tested], draw)
        ),
        notes=(
            f"gallery: one image an identity, draw {draw} ({test}); published figures are means "
            "over ten draws, which the protocol vehicleid makes",
            *missing,
        ),
        has_cameras=False,
        expected={
            "train": Count(113346, 13164),
            "query": Count(images - identities, identities),
            "gallery": Count(identities, identities),
        },
    )


def _read(folder: Path, name: str) -> list[tuple[str, int]]:
    pairs = read_pairs(folder / "train_test_split" / name, dataset="vehicleid")
    return [(f"image/{image.removesuffix('.jpg')}.jpg", vehicle) for image, vehicle in pairs]


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
