"""Tiny copies of the image sets of people, in their real layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_plugin_datasets.testing.images import write_image


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


def write_images(folder: Path, names: list[str]) -> None:
    """Write a small image for each name."""
    for name in names:
        write_image(folder / name)


def write_dukemtmc(root: Path) -> Path:
    """Write two training identities and two that are tested, seen by two cameras each."""
    names = {
        "bounding_box_train": ["0001_c2_f0046182.jpg", "0001_c5_f0051341.jpg", "0007_c8_f00.jpg"],
        "query": ["0005_c2_f0046985.jpg", "0033_c1_f0057706.jpg"],
        "bounding_box_test": ["0005_c5_f0051781.jpg", "0033_c4_f0062911.jpg"],
    }
    for inside, files in names.items():
        write_images(root / "DukeMTMC-reID" / inside, files)
    return root


def write_viper(root: Path, identities: int = 8) -> Path:
    """Write identities that both cameras see, and one that camera B alone sees."""
    for pid in range(identities):
        write_image(root / "VIPeR" / "cam_a" / f"{pid:03d}_{45 * (pid % 3)}.bmp")
        write_image(root / "VIPeR" / "cam_b" / f"{pid:03d}_{90 + 45 * (pid % 3)}.bmp")
    write_image(root / "VIPeR" / "cam_b" / "873_180.bmp")
    return root


def write_prid(root: Path, shared: int = 8) -> Path:
    """Write people that both cameras see, and strangers with equal numbers in both folders."""
    people = [*range(1, shared + 1), 201, 202]
    for camera, numbers in (("cam_a", people), ("cam_b", [*people, 203])):
        folder = root / "prid_2011" / "single_shot" / camera
        write_images(folder, [f"person_{number:04d}.png" for number in numbers])
    return root


def write_cuhk01(root: Path, identities: int = 6) -> Path:
    """Write four images of each identity."""
    names = [f"{pid:04d}{n:03d}.png" for pid in range(1, identities + 1) for n in range(1, 5)]
    write_images(root / "CUHK01" / "campus", names)
    return root


def write_cuhk02(root: Path) -> Path:
    """Write two people a pair of cameras, with two images in each; the pairs count anew."""
    for pair in range(1, 6):
        for camera in (1, 2):
            names = [f"{pid:03d}_{n}.png" for pid in (1, 2) for n in (1, 2)]
            write_images(root / "cuhk02" / "Dataset" / f"P{pair}" / f"cam{camera}", names)
    return root


def write_sensereid(root: Path) -> Path:
    """Write two queries and a gallery of three people."""
    write_images(root / "SenseReID" / "test_probe", ["00001_0.jpg", "00002_0.jpg"])
    write_images(root / "SenseReID" / "test_gallery", ["00001_1.jpg", "00002_1.jpg", "00003_0.jpg"])
    return root


def write_ilids(root: Path, identities: int = 6) -> Path:
    """Write two to four images of each identity."""
    names = [
        f"{pid:04d}{n:03d}.jpg" for pid in range(1, identities + 1) for n in range(1, 3 + pid % 3)
    ]
    write_images(root / "i-LIDS_Pedestrian" / "Persons", names)
    return root


def write_grid(root: Path, people: int = 8, *, with_partitions: bool = False) -> Path:
    """Write people seen twice and three strangers; the partitions train on the first half."""
    folder = root / "underground_reid"
    for pid in range(1, people + 1):
        write_image(folder / "probe" / f"{pid:04d}_{1 + pid % 4}_25004_107_32_106_221.jpeg")
        write_image(folder / "gallery" / f"{pid:04d}_{5 + pid % 4}_25023_116_134_128_330.jpeg")
    write_images(folder / "gallery", [f"0000_{n}_25023_116_134_128_330.jpeg" for n in (5, 6, 7)])
    if with_partitions:
        _write_partitions(folder / "features_and_partitions.mat", people)
    return root


def write_cuhk_sysu(root: Path) -> Path:
    """Write the cropped form: three people in two photographs each."""
    names = [
        f"p{pid}_s{photo}_1.jpg" for pid, photo in [(1, 2), (1, 17), (9, 2), (12, 17), (12, 4)]
    ]
    write_images(root / "cuhk_sysu" / "cropped_images", names)
    return root


def write_cuhk_sysu_annotation(root: Path) -> Path:
    """Write the original form: photographs, and who is where in them; person 9 is tested."""
    from scipy.io import savemat

    scenes = {1: ["s2.jpg", "s17.jpg"], 9: ["s2.jpg"], 12: ["s4.jpg", "s17.jpg", "s2.jpg"]}
    folder = root / "CUHK-SYSU"
    for photograph in sorted({name for names in scenes.values() for name in names}):
        write_image(folder / "Image" / "SSM" / photograph)
    scene = [("imname", object), ("idlocate", object), ("ishard", object)]
    person = [("idname", object), ("nAppear", object), ("scene", object)]
    people = {
        pid: np.array(
            [
                (
                    f"p{pid}",
                    float(len(names)),
                    np.array([[(name, [[1.0, 2.0, 2.0, pid]], 0.0) for name in names]], scene),
                )
            ],
            person,
        )
        for pid, names in scenes.items()
    }
    test = folder / "annotation" / "test" / "train_test"
    test.mkdir(parents=True)
    savemat(
        folder / "annotation" / "Person.mat",
        {"Person": np.concatenate(list(people.values())).reshape(1, -1)},
    )
    trained = np.empty((2, 1), dtype=object)
    trained[0, 0], trained[1, 0] = people[1], people[12]
    savemat(test / "Train.mat", {"Train": trained})
    return root


def _write_partitions(path: Path, people: int) -> None:
    from scipy.io import savemat

    fields = [("probe", object), ("gallery", object), ("people", object)]
    cells = np.empty((1, 10), dtype=object)
    for split in range(10):
        chosen = (np.arange(people // 2) + split) % people + 1
        cells[0, split] = np.array([[(chosen[None] * 2, chosen[None], chosen[None])]], fields)
    savemat(path, {"trainIdxAll": cells})
