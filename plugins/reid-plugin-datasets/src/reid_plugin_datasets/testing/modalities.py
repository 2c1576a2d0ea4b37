"""Tiny copies of the infrared and the clothes-changing sets, in their real layout."""

from __future__ import annotations

from pathlib import Path

from reid_plugin_datasets.testing.images import write_image

#: Cameras that saw each identity of a tiny SYSU-MM01.
SYSU_SEEN = {1: (1, 3, 6), 5: (2, 4, 3), 9: (5, 6), 4: (1, 2, 3, 4, 5, 6), 6: (2, 3, 5)}


def write_sysu_mm01(root: Path) -> Path:
    """Write two training, one validation and two test identities with three images a camera."""
    folder = root / "SYSU-MM01"
    for pid, cameras in SYSU_SEEN.items():
        for camera in cameras:
            for number in range(1, 4):
                write_image(folder / f"cam{camera}" / f"{pid:04d}" / f"{number:04d}.jpg")
    (folder / "exp").mkdir()
    for name, text in (("train", "1,5\n"), ("val", "9\n"), ("test", "6,4\n")):
        (folder / "exp" / f"{name}_id.txt").write_text(text)
    return root


def write_regdb(root: Path) -> Path:
    """Write two training and two test identities with two images each, and the lists of a trial."""
    folder = root / "RegDB"
    (folder / "idx").mkdir(parents=True)
    for modality, letter in (("Visible", "v"), ("Thermal", "t")):
        for part, people in (("train", (1, 4)), ("test", (2, 3))):
            lines = []
            for label, person in enumerate(people):
                for number in (1, 2):
                    name = f"{modality}/{person}/male_back_{letter}_{person:05d}_{number}.bmp"
                    write_image(folder / name)
                    lines.append(f"{name} {label}\n")
            path = folder / "idx" / f"{part}_{modality.lower()}_1.txt"
            path.write_text("".join(lines))
    return root


def write_prcc(root: Path) -> Path:
    """Write two training and two test identities, seen by three cameras."""
    folder = root / "prcc" / "rgb"
    for pid in ("001", "003"):
        for camera in "ABC":
            write_image(folder / "train" / pid / f"{camera}_cropped_rgb001.jpg")
        write_image(folder / "val" / pid / "A_cropped_rgb002.jpg")
    for camera in "ABC":
        for pid in ("002", "004"):
            for number in (1, 2, 3):
                write_image(folder / "test" / camera / pid / f"cropped_rgb{number:03d}.jpg")
    return root


def write_ltcc(root: Path) -> Path:
    """Write two training and two test identities; 0 and 4 change their clothes."""
    folder = root / "LTCC_ReID"
    names = {
        "train": ["000_1_c11_000001.png", "000_2_c2_000002.png", "003_1_c1_000003.png"],
        "query": ["004_1_c1_000004.png", "005_1_c3_000005.png"],
        "test": ["004_2_c2_000006.png", "004_1_c4_000007.png", "005_1_c1_000008.png"],
    }
    for inside, files in names.items():
        for name in files:
            write_image(folder / inside / name)
    (folder / "info").mkdir()
    for part, changing, consistent in (("train", 0, 3), ("test", 4, 5)):
        (folder / "info" / f"cloth-change_id_{part}.txt").write_text(f"{changing}\n")
        (folder / "info" / f"cloth-unchange_id_{part}.txt").write_text(f"{consistent}\n")
    return root
