"""Tiny copies of the sets of vehicles, in their real layout."""

from __future__ import annotations

from pathlib import Path

from reid_plugin_datasets.testing.images import write_image


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


def write_veri_wild(root: Path) -> Path:
    """Write two training identities, and two that are tested, with three images each."""
    folder = root / "VERI-Wild"
    lists = {
        "train_list.txt": ["00001/000001", "00001/000002", "00002/000003"],
        "test_3000_query.txt": ["00003/000004", "00004/000005"],
        "test_3000.txt": ["00003/000006", "00003/000007", "00004/000008", "00004/000009"],
    }
    info = ["id/image;Camera ID;Time;Model;Type;Color"]
    for name, images in lists.items():
        path = folder / "train_test_split" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{image}\n" for image in images))
        for image in images:
            write_image(folder / "images" / f"{image}.jpg")
            number = int(image[-1])
            info.append(f"{image};{100 + number};2018-03-11 06:52:0{number};Audi A4;sedan;white")
    (folder / "train_test_split" / "vehicle_info.txt").write_text("\n".join(info))
    return root


def write_university1652(root: Path) -> Path:
    """Write two buildings to train on, one that is searched for, and one that is only found."""
    folder = root / "University-1652"
    for building in ("0839", "0842"):
        write_image(folder / "train" / "satellite" / building / f"{building}.jpg")
        write_image(folder / "train" / "street" / building / "1.jpg")
        for number in (1, 2):
            write_image(folder / "train" / "drone" / building / f"image-{number:02d}.jpeg")
    write_image(folder / "train" / "google" / "0839" / "1.jpg")
    for split, buildings in {"query": ["0001"], "gallery": ["0001", "0703"]}.items():
        for building in buildings:
            write_image(folder / "test" / f"{split}_satellite" / building / f"{building}.jpg")
            write_image(folder / "test" / f"{split}_street" / building / "1.jpg")
            write_image(folder / "test" / f"{split}_drone" / building / "image-01.jpeg")
    return root
