"""Packing a set: bytes as they are, or made smaller; whole or not there."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("lmdb")

from reid_core.data import packed_writer, packing
from reid_core.data.datasets.packed import packed
from reid_core.data.image_reader import decode_image
from reid_core.data.image_rows import ImageRows
from reid_core.data.manifest import Count, Manifest
from reid_core.data.packing import Recoding, pack
from reid_core.data.resize import Resize
from reid_core.errors import DataError, UsageError

NAN = math.nan


@pytest.fixture
def manifest(make_images):
    made = make_images([5, 5, 7, 7, 9, 9])
    names = np.array(["a", "b", "a", "c", "ü", "b"])
    return replace(
        made,
        pids=names,
        splits=np.array(["train"] * 2 + ["query"] * 2 + ["gallery"] * 2),
        columns={
            "times": np.arange(6) / 7,
            "viewids": np.arange(6),
            "species": names,
            "words": np.array([["x", "yy"]] * 6),
        },
        notes=("2 files ignored",),
        has_cameras=False,
        distractors=(0,),
        expected={"train": Count(2, 2)},
    )


def boxed(manifest, boxes):
    return replace(manifest, columns={**manifest.columns, "boxes": np.array(boxes)})


def test_bytes_are_kept_and_the_manifest_is_the_same(manifest, tmp_path):
    report = pack(manifest, tmp_path / "out", Recoding())
    again = packed(tmp_path / "out")
    for name in ("paths", "pids", "camids", "splits"):
        ours, theirs = getattr(manifest, name), getattr(again, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert list(again.columns) == list(manifest.columns)
    for name, column in manifest.columns.items():
        assert again.columns[name].dtype == column.dtype
        assert np.array_equal(again.columns[name], column)
    assert (again.name, again.has_cameras) == ("images", False)
    assert (again.distractors, again.expected) == ((0,), {"train": (2, 2)})
    assert again.expected["train"].images == 2
    assert again.notes == ("2 files ignored", "packed: images as they were, byte for byte")
    files = [(manifest.root / path).read_bytes() for path in manifest.paths.tolist()]
    assert [again.images.read(path) for path in again.paths.tolist()] == files
    assert (report.num_images, report.num_recoded) == (6, 0)
    assert report.num_bytes == sum(map(len, files))
    assert report.num_bytes_on_disk == (tmp_path / "out" / "data.mdb").stat().st_size
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["data.mdb", "manifest.npz"]


def test_an_image_that_two_rows_name_is_packed_once(manifest, tmp_path):
    twice = manifest.take(np.array([0, 1, 0, 1]))
    assert pack(twice, tmp_path / "out", Recoding()).num_images == 2
    again = packed(tmp_path / "out")
    assert again.paths.tolist() == twice.paths.tolist()


def test_boxes_are_cut_out_and_are_no_column_afterwards(manifest, tmp_path):
    boxes = [[NAN] * 4, [1, 2, 3, 4], [1, 2, 3, 4], [0, 0, 5, 6], [1, 2, 3, 4], [1, 2, 3, 4]]
    rows = np.array([0, 1, 1, 1, 2, 2])
    marked = boxed(manifest.take(rows), boxes)
    report = pack(marked, tmp_path / "out", Recoding(quality=100))
    again = packed(tmp_path / "out")
    assert "boxes" not in again.columns
    first, second, third = (manifest.paths[n] for n in (0, 1, 2))
    assert again.paths.tolist() == [
        first, f"{second}/1.jpg", f"{second}/1.jpg", f"{second}/2.jpg", f"{third}/1.jpg",
        f"{third}/1.jpg",
    ]  # fmt: skip
    assert (report.num_images, report.num_recoded) == (4, 3)
    assert (
        again.notes[-1]
        == "packed: images cut out by their boxes, and stored as JPEG of quality 100"
    )
    ours, theirs = ImageRows([marked]), ImageRows([again])
    assert torch.equal(ours.read(0), theirs.read(0))
    for row in range(1, 6):
        assert ours.read(row).shape == theirs.read(row).shape
        # Noise is the worst case of JPEG.
        assert (ours.read(row).int() - theirs.read(row).int()).abs().float().mean() < 3


def as_jpeg(image, quality):
    stream = io.BytesIO()
    Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(
        stream, "JPEG", quality=quality, subsampling=0
    )
    return stream.getvalue()


def test_a_size_is_reached_by_the_resize_of_training(manifest, tmp_path):
    report = pack(manifest, tmp_path / "out", Recoding(size=(10, 9), quality=80))
    again = packed(tmp_path / "out")
    assert report.num_recoded == 6
    assert (
        "stretched to 10 × 9 (height × width), and stored as JPEG of quality 80"
        in (again.notes[-1])
    )
    small = Resize(image_size=(10, 9))(ImageRows([manifest]).read(3))
    assert again.images.read(again.paths[3]) == as_jpeg(small, 80)


def test_only_what_is_larger_is_shrunk_to_a_longest_side(manifest, tmp_path):
    Image.new("RGB", (100, 40)).save(manifest.root / manifest.paths[1])
    report = pack(manifest, tmp_path / "out", Recoding(max_side=50))
    again = packed(tmp_path / "out")
    assert report.num_recoded == 1
    sizes = [tuple(ImageRows([again]).read(row).shape[1:]) for row in range(3)]
    assert sizes == [(20, 12), (20, 50), (20, 12)]
    assert again.images.read(again.paths[0]) == (manifest.root / manifest.paths[0]).read_bytes()


def test_an_image_that_has_the_size_keeps_its_bytes(manifest, tmp_path):
    assert pack(manifest, tmp_path / "out", Recoding(size=(20, 12))).num_recoded == 0
    assert packed(tmp_path / "out").notes[-1].endswith("byte for byte")


def test_a_database_grows_while_it_is_written(manifest, tmp_path, monkeypatch):
    monkeypatch.setattr(packed_writer, "_FIRST_SIZE", 2**15)
    monkeypatch.setattr(packed_writer, "_BYTES_AT_ONCE", 1500)
    many = 60
    big = Manifest(
        name="big",
        root=tmp_path,
        paths=np.array([f"{n}.bin" for n in range(many)]),
        pids=np.arange(many),
        camids=np.zeros(many, dtype=np.int64),
        splits=np.array(["train"] * many),
    )
    for n in range(many):
        (tmp_path / f"{n}.bin").write_bytes(bytes([n]) * (3000 * (n % 5)))
    report = pack(big, tmp_path / "out", Recoding())
    assert report.num_bytes_on_disk > 2**15
    store = packed(tmp_path / "out").images
    assert [len(store.read(f"{n}.bin")) for n in range(many)] == [
        3000 * (n % 5) for n in range(many)
    ]


@pytest.mark.parametrize("recoding", [Recoding(), Recoding(max_side=8)])
def test_what_cannot_be_read_leaves_nothing_behind(manifest, recoding, tmp_path):
    (manifest.root / manifest.paths[4]).unlink()
    with pytest.raises(
        DataError, match=r"004\.png cannot be opened: No such file.*'reid-data check'"
    ):
        pack(manifest, tmp_path / "out", recoding)
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_a_broken_image_cannot_be_shrunk(manifest, tmp_path):
    (manifest.root / manifest.paths[4]).write_bytes(b"text")
    with pytest.raises(DataError, match=r"004\.png is broken: it is no image"):
        pack(manifest, tmp_path / "out", Recoding(max_side=8))
    assert not (tmp_path / "out").exists()
    pack(manifest, tmp_path / "out", Recoding())  # its bytes can be kept


def test_packing_that_is_interrupted_leaves_no_folder(manifest, tmp_path, monkeypatch):
    def stop(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "write_manifest", stop)
    with pytest.raises(KeyboardInterrupt):
        pack(manifest, tmp_path / "out", Recoding())
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_a_folder_in_use_is_refused_and_an_empty_one_is_taken(manifest, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    for place in ("used", "used/x"):
        with pytest.raises(
            UsageError, match=f"{place} exists already; name a folder that does not"
        ):
            pack(manifest, tmp_path / place, Recoding())
    (tmp_path / "empty").mkdir()
    assert pack(manifest, tmp_path / "empty", Recoding()).num_images == 6


def test_columns_of_objects_are_refused(manifest, tmp_path):
    odd = replace(manifest, columns={"tags": np.array([{}] * 6, dtype=object)})
    with pytest.raises(DataError, match="column tags has dtype object, which no file keeps"):
        pack(odd, tmp_path / "out", Recoding())


def test_a_packed_set_can_be_packed_again(manifest, tmp_path):
    pack(manifest, tmp_path / "out", Recoding())
    pack(packed(tmp_path / "out"), tmp_path / "small", Recoding(size=(8, 8)))
    small = packed(tmp_path / "small")
    assert decode_image(small.images.read(small.paths[0]), "x").shape == (3, 8, 8)
