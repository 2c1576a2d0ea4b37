"""Tiny copies of the sets of occluded people, and lists for pre-training, in their real layout."""

from __future__ import annotations

from pathlib import Path

from reid_plugin_datasets.testing.images import write_image

#: Files of a tiny Occluded-Duke, by folder.
OCCLUDED_DUKE = {
    "bounding_box_train": ["0001_c2_f0046182.jpg", "0007_c3_f0053710.jpg"],
    "query": ["0019_c1_f0051230.jpg", "0021_c8_f0008516.jpg"],
    "bounding_box_test": ["0019_c5_f0060626.jpg", "0021_c1_f0051736.jpg", "0900_c4_f0000007.jpg"],
}


def write_occluded_duke(root: Path) -> Path:
    """Write two training identities, two queries and a gallery with a distractor."""
    for inside, names in OCCLUDED_DUKE.items():
        for name in names:
            write_image(root / "Occluded_Duke" / inside / name)
    return root


def write_occluded_duke_lists(root: Path) -> Path:
    """Write DukeMTMC-reID and the lists that cut it anew; one query lies in its gallery."""
    names = {
        "bounding_box_train": OCCLUDED_DUKE["bounding_box_train"],
        "query": OCCLUDED_DUKE["query"][:1],
        "bounding_box_test": OCCLUDED_DUKE["bounding_box_test"] + OCCLUDED_DUKE["query"][1:],
    }
    for inside, files in names.items():
        for name in files:
            write_image(root / "DukeMTMC-reID" / inside / name)
    for split, inside in (
        ("train", "bounding_box_train"),
        ("query", "query"),
        ("gallery", "bounding_box_test"),
    ):
        lines = "".join(f"{name}\n" for name in OCCLUDED_DUKE[inside])
        (root / f"{split}.list").write_text(lines)
    return root


def write_occluded_reid(root: Path) -> Path:
    """Write two identities with two occluded and one whole image each."""
    folder = root / "Occluded_REID"
    for pid in ("001", "002"):
        for number in (1, 2):
            write_image(folder / "occluded_body_images" / pid / f"{pid}_{number:02d}.tif")
        write_image(folder / "whole_body_images" / pid / f"{pid}_01.tif")
    return root


def write_partial_reid(root: Path) -> Path:
    """Write two identities with an image of each of the three kinds."""
    for kind in ("occluded", "partial", "whole"):
        for pid in ("001", "002"):
            folder = root / "Partial-REID_Dataset" / f"{kind}_body_images"
            write_image(folder / f"{pid}_001.jpg")
    return root


def write_p_dukemtmc(root: Path) -> Path:
    """Write two training and two test identities."""
    for part, pids in (("train", (1, 7)), ("test", (19, 21))):
        for kind in ("occluded", "whole"):
            for pid in pids:
                folder = root / "P-DukeMTMC-reid" / part / f"{kind}_body_images"
                write_image(folder / f"{pid:04d}" / f"{pid:04d}_c{pid % 8 + 1}_f0046182.jpg")
    return root


def write_luperson(root: Path) -> Path:
    """Write two lists, of images alone and of images with numbers, and the images."""
    names = ["video_2/0001.jpg", "video_2/0002.jpg", "video_1/a b, c.jpg"]
    for name in names:
        write_image(root / name)
    (root / "images.txt").write_text("".join(f"{name}\n" for name in names))
    lines = [f"{name},{label}\n" for name, label in zip(names, (5, 3, 5), strict=True)]
    (root / "labelled.csv").write_text("".join(lines))
    return root
