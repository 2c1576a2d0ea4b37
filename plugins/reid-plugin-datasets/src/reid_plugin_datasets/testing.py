"""Tiny copies of the benchmarks, in their real layout, for tests of what reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def write_image(path: Path) -> None:
    """Write a small JPEG, the folder being made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 4, 3), 90, dtype=np.uint8)).save(path)


def write_msmt17(root: Path, version: str = "V1") -> Path:
    """Write two training, one validation and two test identities."""
    folder = root / f"MSMT17_{version}"
    trained, tested = ("train", "test") if version == "V1" else ("mask_train_v2", "mask_test_v2")
    lists = {
        "list_train.txt": (trained, [(0, 1), (0, 5), (1, 15)]),
        "list_val.txt": (trained, [(2, 3)]),
        "list_query.txt": (tested, [(0, 1), (1, 2)]),
        "list_gallery.txt": (tested, [(0, 2), (1, 1), (1, 3)]),
    }
    for name, (inside, entries) in lists.items():
        lines = []
        for number, (pid, camera) in enumerate(entries):
            image = f"{pid:04d}/{pid:04d}_{number:03d}_{camera:02d}_0303morning_0015_0.jpg"
            write_image(folder / inside / image)
            lines.append(f"{image} {pid}\n")
        (folder / name).write_text("".join(lines))
    return root


def write_veri776(root: Path) -> Path:
    """Write two training identities and one that is tested, with a file of views."""
    names = {
        "image_train": ["0001_c001_00016450_0.jpg", "0003_c020_00016460_0.jpg"],
        "image_query": ["0002_c002_00030600_0.jpg"],
        "image_test": ["0002_c003_00084280_0.jpg", "0002_c004_00084280_0.jpg"],
    }
    lines = []
    for inside, files in names.items():
        for number, name in enumerate(files):
            write_image(root / "VeRi" / inside / name)
            lines.append(f"/home/somebody/{inside}/{name} -1 12 40 {number + 5}\n")
    (root / "VeRi" / "keypoints.txt").write_text("".join(lines))
    return root


def write_vehicleid(root: Path) -> Path:
    """Write two training identities and two that are tested, with three images each."""
    folder = root / "VehicleID_V1.0"
    lists = {
        "train_list.txt": [(1, 10), (2, 10), (3, 11)],
        "test_list_800.txt": [(4, 20), (5, 20), (6, 21), (7, 21), (8, 20), (9, 21)],
    }
    for name, entries in lists.items():
        for image, _ in entries:
            write_image(folder / "image" / f"{image:04d}.jpg")
        path = folder / "train_test_split" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{image:04d} {vehicle}\n" for image, vehicle in entries))
    return root
