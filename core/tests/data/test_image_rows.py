"""Rows of several sets, their boxes (B014, B015), odd paths (B021), and what processes share."""

import math
import multiprocessing
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reid_core.data.image_reader import BrokenImageError, read_image
from reid_core.data.image_rows import ImageRows, crop
from reid_core.data.manifest import Manifest

NAN = math.nan


def manifest_of(folder, names, *, name="set", boxes=None, **keywords):
    return Manifest(
        name=name,
        root=folder,
        paths=np.array(names),
        pids=np.arange(len(names)),
        camids=np.zeros(len(names), dtype=np.int64),
        splits=np.array(["train"] * len(names)),
        columns={} if boxes is None else {"boxes": np.array(boxes, dtype=np.float64)},
        **keywords,
    )


@pytest.fixture
def ten_by_ten(tmp_path):
    """An image in which every pixel has another colour."""
    pixels = np.stack(np.meshgrid(np.arange(10), np.arange(10), [7]), axis=-1)[:, :, 0]
    Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "a.png")
    return tmp_path


def boxed(folder, *boxes):
    return ImageRows([manifest_of(folder, ["a.png"] * len(boxes), boxes=boxes)])


class MemoryStore:
    def __init__(self, contents):
        self.contents = contents

    def read(self, path):
        return self.contents[path]

    def locate(self, path):
        return f"memory:{path}"


def test_each_set_is_read_from_its_own_place(make_images, tmp_path):
    first = make_images([0, 1])
    Image.new("RGB", (3, 5), (9, 8, 7)).save(tmp_path / "x.png")
    store = MemoryStore({"x.png": (tmp_path / "x.png").read_bytes()})
    second = manifest_of(Path("nowhere"), ["x.png"], name="second", store=store)
    rows = ImageRows([first, manifest_of(tmp_path, []), second])
    assert len(rows) == 3
    assert [rows.locate(row) for row in range(3)] == [
        f"{first.root}/000.png",
        f"{first.root}/001.png",
        "memory:x.png",
    ]
    assert [rows.dataset(row) for row in range(3)] == ["images", "images", "second"]
    assert [rows.is_file(row) for row in range(3)] == [True, True, False]
    assert torch.equal(rows.read(1), read_image(first.root / "001.png"))
    assert rows.read(2)[:, 4, 2].tolist() == [9, 8, 7]


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_not_there_is_not_another_one(row, make_images):
    with pytest.raises(IndexError, match=f"row {row} of 2"):
        ImageRows([make_images([0, 1])]).locate(row)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_any_text_is_kept_as_a_path(names):
    rows = ImageRows([manifest_of(Path("r"), names or np.array([], dtype=np.str_))])
    assert [rows._path(row) for row in range(len(rows))] == names


def test_b015_a_box_is_cut_out_of_the_image(ten_by_ten):
    rows = boxed(ten_by_ten, [2, 3, 4, 5])
    whole, part = read_image(ten_by_ten / "a.png"), rows.read(0)
    assert part.shape == (3, 5, 4)
    assert torch.equal(part, whole[:, 3:8, 2:6])
    # Not a view of the photograph, and with the layout of a decoded image.
    assert part.untyped_storage().nbytes() == part.numel()
    assert part.stride(0) == 1
    assert rows.box(0) == (2, 3, 4, 5)


def test_b015_what_is_outside_of_the_image_is_cut_off(ten_by_ten):
    rows = boxed(ten_by_ten, [-3, 7, 5, 9], [-1, -1, 12, 12])
    whole = read_image(ten_by_ten / "a.png")
    assert torch.equal(rows.read(0), whole[:, 7:10, 0:2])
    assert torch.equal(rows.read(1), whole)


@pytest.mark.parametrize(
    ("box", "reason"),
    [
        ((10, 0, 4, 4), "lies outside of the image of 10 × 10 pixels"),
        ((0, -4, 4, 4), "lies outside of the image of 10 × 10 pixels"),
        ((2, 3, 0, 5), "is empty; expected a width and height above 0"),
        ((2, 3, 4, -5), "is empty; expected a width and height above 0"),
        ((2, 3, NAN, 5), "is not complete; expected four numbers, or none of them"),
        ((2, 3, math.inf, 5), "is not complete; expected four numbers, or none of them"),
    ],
)
def test_b015_a_box_without_pixels_is_an_error_that_names_row_and_box(box, reason, ten_by_ten):
    rows = boxed(ten_by_ten, [NAN] * 4, box)
    x, y, width, height = box
    with pytest.raises(BrokenImageError) as caught:
        rows.read(1)
    assert str(caught.value) == (
        f"image {ten_by_ten}/a.png, row 1: its box x {x:g}, y {y:g}, width {width:g}, "
        f"height {height:g} {reason}"
    )


def test_b014_rows_without_a_box_are_whole_images(ten_by_ten):
    whole = read_image(ten_by_ten / "a.png")
    with_boxes = manifest_of(ten_by_ten, ["a.png"] * 2, boxes=[[1, 1, 4, 4], [NAN] * 4])
    rows = ImageRows([with_boxes, manifest_of(ten_by_ten, ["a.png"], name="other")])
    assert rows.read(0).shape == (3, 4, 4)
    assert torch.equal(rows.read(1), whole)
    assert torch.equal(rows.read(2), whole)
    assert (rows.box(1), rows.box(2)) == (None, None)


def test_b015_a_blank_image_is_returned_whole(tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "black.png")
    rows = ImageRows([manifest_of(tmp_path, ["black.png"])])
    assert torch.equal(rows.read(0), torch.zeros(3, 4, 6, dtype=torch.uint8))


def slow_crop(image, box):
    """Every pixel whose centre lies in the box, by looking at each."""
    x, y, width, height = box
    rows = [r for r in range(image.shape[1]) if y < r + 0.5 <= y + height]
    columns = [c for c in range(image.shape[2]) if x < c + 0.5 <= x + width]
    return torch.stack([torch.stack([image[:, r, c] for c in columns], dim=1) for r in rows], dim=1)


@given(
    st.tuples(
        *[st.integers(-40, 60).map(lambda n: n / 8)] * 2,
        *[st.integers(8, 120).map(lambda n: n / 8)] * 2,
    )
)
def test_a_box_holds_the_pixels_whose_centres_are_in_it(box):
    image = torch.arange(3 * 8 * 6, dtype=torch.uint8).view(3, 8, 6)
    x, y, width, height = box
    if x + width < 1 or y + height < 1 or x > 5 or y > 7:
        return  # then one pixel may be kept, whose centre is outside
    # Halves are rounded up: a pixel whose centre is on an edge counts at the end alone.
    assert torch.equal(crop(image, box), slow_crop(image, box))


@pytest.mark.parametrize(("box", "kept"), [((9.6, 2, 0.3, 1), 9), ((-0.9, 2, 1, 1), 0)])
def test_a_box_that_touches_the_image_keeps_a_pixel(box, kept, ten_by_ten):
    part = boxed(ten_by_ten, box).read(0)
    assert part[0].tolist() == [[kept]]


def test_boxes_are_cut_out_of_the_upright_image(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (4, 2), (0, 0, 255))
    image.putpixel((0, 0), (255, 0, 0))
    image.save(tmp_path / "a.png", exif=exif)
    assert boxed(tmp_path, [1, 0, 1, 1]).read(0).flatten().tolist() == [255, 0, 0]


@pytest.mark.parametrize("odd", ["re id/数据 #1/Märket,1501", "a b"])
def test_b021_paths_may_hold_spaces_and_other_alphabets(odd, make_images, tmp_path):
    manifest = make_images([0])
    folder = tmp_path / odd
    folder.mkdir(parents=True)
    (manifest.root / "000.png").rename(folder / "ü, #.png")
    rows = ImageRows([manifest_of(tmp_path, [f"{odd}/ü, #.png"])])
    assert rows.locate(0) == f"{tmp_path}/{odd}/ü, #.png"
    assert rows.read(0).shape == (3, 20, 12)


def test_absolute_paths_and_relative_roots_are_kept(make_images, tmp_path, monkeypatch):
    manifest = make_images([0, 1])
    monkeypatch.chdir(tmp_path)
    relative = replace(manifest, root=manifest.root.relative_to(tmp_path))
    absolute = replace(manifest, root=Path(), paths=np.array([f"{manifest.root}/001.png"] * 2))
    rows = ImageRows([relative, absolute])
    assert rows.locate(2) == f"{manifest.root}/001.png"
    assert torch.equal(rows.read(1), rows.read(2))


def _is_shared(rows, queue):
    queue.put([tensor.is_shared() for tensor in (rows._texts, rows._offsets, rows._boxes)])


@pytest.mark.timeout(60)
def test_a_process_that_is_spawned_shares_the_table(ten_by_ten):
    rows = boxed(ten_by_ten, [1, 1, 2, 2])
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_is_shared, args=(rows, queue))
    process.start()
    assert queue.get(timeout=50) == [True, True, True]
    process.join()


def test_the_pickle_has_no_object_for_each_row(tmp_path):
    few, many = (ImageRows([manifest_of(tmp_path, ["a/b.png"] * n)]) for n in (2000, 4000))
    sizes = [len(pickle.dumps(rows)) for rows in (few, many)]
    # Seven letters and an offset a row.
    assert sizes[1] - sizes[0] == pytest.approx(2000 * (7 + 8), rel=0.01)
