from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.datasets.csv_table import csv_table
from reid_core.data.datasets.parquet import parquet
from reid_core.data.manifest import Manifest, no_cameras
from reid_core.data.manifest_table import copy_images, portable_paths, write_manifest
from reid_core.errors import DataError, UsageError

NAN = float("nan")


def manifest(root: Path, paths: list[str], **fields: object) -> Manifest:
    count = len(paths)
    columns = {
        "pids": np.arange(count) // 2,
        "camids": np.arange(count) % 2,
        "splits": np.array(["train", "query", "gallery"] * count)[:count],
        **fields,
    }
    return Manifest(name="x", root=root, paths=np.array(paths), **columns)  # type: ignore[arg-type]


def images(folder: Path, names: list[str]) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"bytes of {name}".encode())
    return names


def assert_same_rows(got: Manifest, expected: Manifest) -> None:
    places = [
        [str((one.root / path).resolve()) for path in one.paths.tolist()] for one in (got, expected)
    ]
    assert places[0] == places[1]
    assert got.has_cameras == expected.has_cameras
    assert got.splits.tolist() == expected.splits.tolist()
    for column in ("pids", "camids"):
        one, other = getattr(got, column), getattr(expected, column)
        assert one.dtype.kind == other.dtype.kind, column
        assert one.tolist() == other.tolist(), column
    assert sorted(got.columns) == sorted(expected.columns)
    for name, values in expected.columns.items():
        assert got.columns[name].dtype.kind in (values.dtype.kind, "T"), name
        np.testing.assert_array_equal(got.columns[name], values, err_msg=name)


COLUMNS = {
    "viewids": np.array([0, 1, 2, 3]),
    "times": np.array([0.1, NAN, 1e-7, 1717171717.25]),
    "weight": np.array([1.0, 2.0, 3.0, 4.0]),
    "species": np.array(["kudu", 'a "b", c', "", "Märket; |x"]),
    "code": np.array(["1", "2.5", "007", ""]),
    "note": np.array([" blanks ", "tab\there", "line\nbreak", "数据"]),
    "attributes": np.array([[1, 0, -1], [0, 0, 1], [1, 1, 1], [-1, -1, -1]]),
    "boxes": np.array([[1.5, 2, 3, 4], [NAN] * 4, [0.1 + 0.2, 0, 9, 9], [1, 1, 1, 1]]),
}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"pids": np.array(["007", "007", "08", "9"])},
        {"pids": np.array(["7", "7", "8", "9"]), "camids": np.array(["1", "2", "1", "2"])},
        {"pids": np.array(["anna, b", '"quoted"', "ümlaut", "数据"])},
        {"pids": np.array([0, -1, 5, 5])},
        {"camids": no_cameras(4), "has_cameras": False},
        {"columns": COLUMNS},
    ],
    ids=["plain", "zeros", "digits", "names", "junk", "no cameras", "columns"],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_reads_back_as_the_same_rows(
    ending: str, fields: dict[str, object], tmp_path: Path
) -> None:  # B021
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    root = tmp_path / "re id" / "数据 #1" / "Märket,1501"
    names = images(root, ["a.jpg", "b, c.jpg", "sub/d 'e'.jpg", "#f.jpg"])
    expected = manifest(root, names, **fields)
    table = tmp_path / "tables" / f"mine.{ending}"
    write_manifest(expected, table)
    read = csv_table(table) if ending == "csv" else parquet(table)
    assert_same_rows(read, expected)


def test_paths_lead_from_the_table_to_the_images(tmp_path: Path) -> None:
    source = manifest(tmp_path / "data", ["a/1.jpg", "b/2.jpg"])
    assert portable_paths(source, tmp_path) == ["data/a/1.jpg", "data/b/2.jpg"]
    assert portable_paths(source, tmp_path / "data") == ["a/1.jpg", "b/2.jpg"]
    assert portable_paths(source, tmp_path / "data" / "a") == ["../a/1.jpg", "../b/2.jpg"]


def test_paths_of_a_table_elsewhere_are_shortened(tmp_path: Path) -> None:
    source = manifest(tmp_path / "tables", ["../data/1.jpg", str(tmp_path / "x" / "2.jpg")])
    assert portable_paths(source, tmp_path) == ["data/1.jpg", "x/2.jpg"]


def test_a_table_and_its_images_can_be_moved_together(tmp_path: Path) -> None:
    images(tmp_path / "old" / "data", ["1.jpg", "2.jpg"])
    write_manifest(
        manifest(tmp_path / "old" / "data", ["1.jpg", "2.jpg"]), tmp_path / "old" / "t.csv"
    )
    (tmp_path / "old").rename(tmp_path / "new")
    read = csv_table(tmp_path / "new" / "t.csv")
    assert [read.images.read(path) for path in read.paths.tolist()] == [
        b"bytes of 1.jpg",
        b"bytes of 2.jpg",
    ]


def test_copies_hold_the_same_bytes_and_lie_below_the_folder(tmp_path: Path) -> None:
    images(tmp_path, ["data/1.jpg", "more/deep/2.jpg"])
    source = manifest(tmp_path / "tables", ["../data/1.jpg", "../more/deep/2.jpg", "../data/1.jpg"])
    (tmp_path / "tables").mkdir()
    copied = copy_images(source, tmp_path / "copy")
    assert copied.paths.tolist() == ["data/1.jpg", "more/deep/2.jpg", "data/1.jpg"]
    found = sorted(
        str(p.relative_to(tmp_path / "copy")) for p in (tmp_path / "copy").rglob("*.jpg")
    )
    assert found == ["data/1.jpg", "more/deep/2.jpg"]
    assert copied.images.read("data/1.jpg") == b"bytes of data/1.jpg"


@dataclass(frozen=True)
class Packed:
    """Images that are no files."""

    def read(self, path: str) -> bytes:
        return path.encode()

    def locate(self, path: str) -> str:
        return f"packed/{path}"


def test_packed_images_are_named_only_once_they_are_files(tmp_path: Path) -> None:
    source = replace(manifest(tmp_path, ["a/1.jpg", "2.jpg"]), store=Packed())
    with pytest.raises(DataError, match="packed together, so no table can name them; --copy"):
        write_manifest(source, tmp_path / "t.csv")
    copied = copy_images(source, tmp_path / "copy")
    write_manifest(copied, tmp_path / "t.csv")
    assert (tmp_path / "copy" / "a" / "1.jpg").read_bytes() == b"a/1.jpg"
    assert csv_table(tmp_path / "t.csv").paths.tolist() == ["copy/a/1.jpg", "copy/2.jpg"]


def test_a_missing_image_stops_the_copy_and_is_named(tmp_path: Path) -> None:
    source = manifest(tmp_path, ["gone.jpg"])
    with pytest.raises(DataError) as caught:
        copy_images(source, tmp_path / "copy")
    assert f"image {tmp_path / 'gone.jpg'} cannot be copied to" in str(caught.value)
    assert "No such file or directory; 'reid-data check' lists all" in str(caught.value)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a name that ends in \.csv or \.parquet"):
        write_manifest(manifest(tmp_path, ["1.jpg"]), tmp_path / "t.xlsx")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_manifest(manifest(tmp_path, ["1.jpg"]), tmp_path / "file" / "t.csv")


def test_columns_that_no_cell_can_hold_are_refused(tmp_path: Path) -> None:
    source = manifest(tmp_path, ["1.jpg"], columns={"poses": np.zeros((1, 3, 2))})
    with pytest.raises(DataError, match=r"column poses holds \(3, 2\) values of float64"):
        write_manifest(source, tmp_path / "t.csv")


@pytest.mark.parametrize("is_there", [True, False])
def test_a_table_in_a_linked_folder_leads_to_its_images(tmp_path: Path, is_there: bool) -> None:
    source = manifest(tmp_path / "data", images(tmp_path / "data", ["1.png", "2.png"]))
    (tmp_path / "far/away/tables").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/away/tables")
    folder = tmp_path / "link" if is_there else tmp_path / "link/new"
    write_manifest(source, folder / "t.csv")
    assert_same_rows(csv_table(folder / "t.csv"), source)


def test_links_that_images_lie_behind_stay_in_the_paths(tmp_path: Path) -> None:
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "data").symlink_to("far/away")
    assert portable_paths(manifest(tmp_path / "data", ["1.png"]), tmp_path) == ["data/1.png"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_numbers_that_are_all_missing_stay_numbers(tmp_path: Path, ending: str) -> None:
    columns = {"age": np.array([NAN, NAN]), "known": np.array([True, False])}
    source = manifest(tmp_path, images(tmp_path, ["1.jpg", "2.jpg"]), columns=columns)
    write_manifest(source, tmp_path / f"t{ending}")
    read = {".csv": csv_table, ".parquet": parquet}[ending](tmp_path / f"t{ending}")
    assert read.columns["age"].dtype.kind == "f"
    assert np.isnan(read.columns["age"].astype(np.float64)).all()
