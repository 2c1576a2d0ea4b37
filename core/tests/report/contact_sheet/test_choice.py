from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.data.manifest import Manifest, no_cameras
from reid_core.report.contact_sheet.choice import sheet_rows

SIZE = (20, 20)


@pytest.fixture
def images(tmp_path: Path) -> Manifest:
    """Three identities; each camera of two took three images of each."""
    rows = [
        (pid, camera, shot) for pid in ("b", "a", "c") for camera in (2, 1) for shot in range(3)
    ]
    for number, (pid, camera, shot) in enumerate(rows):
        Image.new("RGB", (40, 10), (number * 10, 0, 0)).save(tmp_path / f"{pid}{camera}{shot}.png")
    return Manifest(
        name="mine",
        root=tmp_path,
        paths=np.array([f"{pid}{camera}{shot}.png" for pid, camera, shot in rows]),
        pids=np.array([pid for pid, _, _ in rows]),
        camids=np.array([camera for _, camera, _ in rows]),
        splits=np.array(["train"] * len(rows)),
    )


def test_identities_and_cameras_are_sorted_and_cameras_take_turns(images: Manifest) -> None:
    rows = sheet_rows(images, identities=9, images=4, size=SIZE)
    assert [row.pid for row in rows] == ["a", "b", "c"]
    for row in rows:
        assert [one.camera for one in row.images] == ["1", "1", "2", "2"]
        assert row.label == "6 images, 2 cameras"
        assert all(one.path.startswith(row.pid) for one in row.images)
    assert rows[0].images[0].label == "camera 1 · train"


def test_pictures_fit_and_keep_their_proportions(images: Manifest) -> None:
    picture = sheet_rows(images, identities=1, images=1, size=SIZE)[0].images[0].picture
    assert picture is not None
    assert picture.size == (20, 5)


def test_each_picture_is_that_of_its_path(images: Manifest) -> None:
    for row in sheet_rows(images, identities=3, images=6, size=SIZE):
        for one in row.images:
            assert one.picture is not None
            whole = Image.open(images.root / one.path)
            assert one.picture.getpixel((0, 0)) == whole.getpixel((0, 0))


def test_the_seed_chooses(images: Manifest) -> None:
    def chosen(seed: int) -> list[list[str]]:
        rows = sheet_rows(images, identities=2, images=2, size=SIZE, seed=seed)
        return [[one.path for one in row.images] for row in rows]

    assert chosen(1) == chosen(1)
    assert len({str(chosen(seed)) for seed in range(6)}) > 1


def test_a_broken_image_has_no_picture_and_says_why(images: Manifest) -> None:
    for path in images.paths.tolist():
        if path.startswith("a"):
            (images.root / path).write_bytes(b"")
    first = sheet_rows(images, identities=3, images=1, size=SIZE)[0].images[0]
    assert first.picture is None
    assert first.problem.endswith("is empty (0 bytes)")


def test_boxes_are_cut_out(images: Manifest) -> None:
    boxes = np.tile(np.array([1.0, 2.0, 6.0, 8.0]), (len(images), 1))
    rows = sheet_rows(
        replace(images, columns={"boxes": boxes}), identities=1, images=1, size=(99, 99)
    )
    picture = rows[0].images[0].picture
    assert picture is not None
    assert picture.size == (6, 8)


def test_cameras_that_are_not_known_are_not_named(images: Manifest) -> None:
    unknown = replace(images, camids=no_cameras(len(images)), has_cameras=False)
    row = sheet_rows(unknown, identities=1, images=1, size=SIZE)[0]
    assert row.label == "6 images"
    assert row.images[0].label == "train"
