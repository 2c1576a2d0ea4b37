from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from reid_core.data.detect import detect
from reid_core.errors import DataError


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    ("name", "reader"),
    [("a.csv", "csv"), ("a.TSV", "csv"), ("re id, #1.parquet", "parquet"), ("a.json", "coco")],
)
def test_a_file_is_known_by_its_suffix(name: str, reader: str, tmp_path: Path) -> None:
    touch(tmp_path, name)
    assert detect(tmp_path / name) == (reader, {"file": str(tmp_path / name)})


@pytest.mark.parametrize(
    ("names", "reader", "below"),
    [
        (["bounding_box_train/0001_c1s1_1.jpg"], "market1501", ""),
        (["Market-1501-v15.09.15/query/a.jpg", "Market-1501-v15.09.15/bounding_box_test/b.jpg"],
         "market1501", ""),
        (["bounding_box_train/0001/a.jpg", "query/0002/b.jpg"], "folder", ""),
        (["query/anna/b.jpg", "gallery/anna/b.jpg"], "folder", ""),
        (["MOT-02/gt/gt.txt", "MOT-02/img1/000001.jpg"], "mot", ""),
        (["gt/gt.txt", "img1/000001.jpg"], "mot", ""),
        (["train/MOT-02/gt/gt.txt", "test/MOT-01/img1/000001.jpg"], "mot", ""),
        (["MOT-01/img1/000001.jpg", "MOT-01/seqinfo.ini"], "mot", ""),
        (["test/MOT-01/img1/000001.jpg", "test/MOT-03/seqinfo.ini"], "mot", ""),
        (["img1/000001.jpg"], "mot", ""),
        (["MOT-01/frames/000001.jpg", "MOT-01/seqinfo.ini"], "mot", ""),
        (["anna/img1/1.jpg", "anna/img2/1.jpg"], "folder", ""),
        (["anna/1.jpg", "notes.txt", "ben/1.jpg", "ben/list.csv"], "folder", ""),
        (["bounding_box_train/0001_c1s1_1.jpg", "attributes.csv"], "market1501", ""),
        (["data.mdb", "lock.mdb"], "packed", ""),
        (["anna/1.jpg", "ben/day 2/1.PNG"], "folder", ""),
        ([".cache/x/1.jpg", "ben/1.jpg"], "folder", ""),
    ],
)  # fmt: skip
def test_a_folder_is_known_by_what_it_holds(
    names: list[str], reader: str, below: str, tmp_path: Path
) -> None:
    touch(tmp_path, *names)
    assert detect(tmp_path) == (reader, {"root": str(tmp_path / below)})


def test_the_nearest_folder_is_named_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(DataError) as caught:
        detect(tmp_path / "daat" / "mine")
    assert str(caught.value) == (
        f"there is no file or folder {tmp_path / 'daat' / 'mine'} (the nearest that exists is "
        f"{tmp_path}, with data in it; did you mean {tmp_path / 'data'}?)"
    )


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["1.jpg", "2.jpg"], "2 images side by side, for example 1.jpg"),
        (["1.jpg"], "--dataset folder --param 'pattern={pid}_*'"),
        (["0002_c1s1_1.jpg"], "--dataset folder --param 'pattern={pid}_c{camid:d}*'"),
        (["anna/notes.txt", "ben/x.jpg/y.txt"], "the folders anna, ben, without an image"),
        ([".hidden.jpg"], "neither images nor folders"),
    ],
)
def test_what_is_not_known_is_described_with_all_that_was_looked_for(
    names: list[str], found: str, tmp_path: Path
) -> None:
    touch(tmp_path, *names)
    with pytest.raises(DataError) as caught:
        detect(tmp_path)
    message = str(caught.value)
    assert found in message
    for word in (".csv", ".parquet", ".json", "data.mdb", "bounding_box_train", "gt/gt.txt"):
        assert word in message
    assert "--dataset NAME names the reader" in message


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (["zoo.json", "images/S1/1.jpg"], "zoo.json"),
        (["my table.csv", "anna/1.jpg", "ben/2.jpg"], "my table.csv"),
        (["annotations/all.json", "train2017/1.jpg", "val2017/1.jpg"], "annotations/all.json"),
        (["1.jpg", "2.jpg", "rows.parquet"], "rows.parquet"),
    ],
)
def test_a_table_beside_images_is_not_passed_over(
    names: list[str], table: str, tmp_path: Path
) -> None:
    touch(tmp_path, *names)
    with pytest.raises(DataError) as caught:
        detect(tmp_path)
    text = str(caught.value)
    assert f"it is not plain how this is read: {table} may say who is on the images" in text
    assert "or insist on the folders by --dataset folder" in text
    words = shlex.split(text.partition("for example: ")[2].partition(";")[0])
    assert words == ["reid-data", "split", str(tmp_path / table), "-o", "mine.csv"]


@pytest.mark.parametrize(
    ("names", "others"),
    [
        (["video/A/gt/gt.txt", "anna/1.jpg", "ben/1.jpg"], "video, and beside them anna, ben; "),
        (["A/gt/gt.txt", "anna/1.jpg"], "A, and beside them anna; "),
        (["video/A/img1/1.jpg", "zoo.csv", "1.jpg"], "video, and beside them 1.jpg, zoo.csv; "),
    ],
)
def test_tracks_are_not_taken_out_of_other_things_in_silence(
    names: list[str], others: str, tmp_path: Path
) -> None:
    touch(tmp_path, *names)
    with pytest.raises(DataError) as caught:
        detect(tmp_path)
    assert others in str(caught.value)
    assert "or insist on the tracks by --dataset mot" in str(caught.value)


def test_an_unknown_suffix_is_named(tmp_path: Path) -> None:
    touch(tmp_path, "list.xlsx")
    with pytest.raises(DataError, match=r"it is a file that ends in \.xlsx"):
        detect(tmp_path / "list.xlsx")


def test_several_folders_of_tracks_are_not_guessed_among(tmp_path: Path) -> None:
    touch(tmp_path, "train/A/gt/gt.txt", "val/B/gt/gt.txt")
    with pytest.raises(DataError, match="train, val; name one of them, for example"):
        detect(tmp_path)


def test_a_link_that_leads_back_up_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(DataError, match="without an image"):
        detect(tmp_path)


def test_real_sets_are_recognised(shared_data: Path) -> None:
    for name in ("lpc_reid", "nyala_reid", "omniglot_reid"):
        assert detect(shared_data / name)[0] == "market1501"
