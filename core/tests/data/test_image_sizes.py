from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.data.image_sizes import image_sizes
from reid_core.data.manifest import Manifest


def manifest(root: Path, names: list[str]) -> Manifest:
    return Manifest(
        name="x",
        root=root,
        paths=np.array(names),
        pids=np.arange(len(names)),
        camids=np.arange(len(names)),
        splits=np.array(["train"] * len(names)),
    )


@pytest.fixture
def three(tmp_path: Path) -> Manifest:
    Image.new("RGB", (7, 5)).save(tmp_path / "wide.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 3)).save(tmp_path / "turned.jpg", exif=exif)
    (tmp_path / "broken.png").write_bytes(b"no image")
    return manifest(tmp_path, ["wide.png", "turned.jpg", "broken.png"])


def test_sizes_are_those_of_the_upright_images(three: Manifest) -> None:
    found = image_sizes(three)
    assert found.sizes.tolist() == [[7, 5], [3, 8]]
    assert (found.unreadable, found.looked_at, found.example) == (1, 3, "broken.png")


def test_a_box_has_its_own_size_and_opens_no_file(tmp_path: Path) -> None:
    boxes = np.array([[0, 0, 20, 30], [1, 1, 2.6, 4.2]], dtype=float)
    rows = replace(manifest(tmp_path, ["gone.jpg", "gone.jpg"]), columns={"boxes": boxes})
    assert image_sizes(rows).sizes.tolist() == [[20, 30], [3, 4]]


def test_a_row_without_a_box_has_the_size_of_the_image(three: Manifest) -> None:
    rows = replace(three, columns={"boxes": np.full((3, 4), np.nan)})
    assert image_sizes(rows).sizes.tolist() == [[7, 5], [3, 8]]


def test_of_a_large_set_a_part_is_looked_at(tmp_path: Path) -> None:
    for number in range(10):
        Image.new("L", (number + 1, 2)).save(tmp_path / f"{number}.png")
    found = image_sizes(manifest(tmp_path, [f"{n}.png" for n in range(10)]), max_headers=4)
    assert found.looked_at == 4
    assert found.sizes[:, 0].tolist() == [1, 4, 7, 10]


@dataclass(frozen=True)
class Packed:
    """One PNG under every name."""

    def read(self, path: str) -> bytes:
        buffer = io.BytesIO()
        Image.new("RGB", (4, 9)).save(buffer, format="PNG")
        return buffer.getvalue()

    def locate(self, path: str) -> str:
        return path


def test_packed_images_are_read_from_their_store(tmp_path: Path) -> None:
    rows = replace(manifest(tmp_path, ["a"]), store=Packed())
    assert image_sizes(rows).sizes.tolist() == [[4, 9]]
