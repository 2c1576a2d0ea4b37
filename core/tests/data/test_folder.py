"""B007 the other layout is named, B020 stray files, B021 odd paths."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.folder import folder
from reid_core.errors import ConfigError, DataError


def write(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 8), (9, 9, 9)).save(root / name)
    return root


def rows(manifest):
    return list(
        zip(
            manifest.splits.tolist(), manifest.paths.tolist(), manifest.pids.tolist(), strict=True
        )
    )  # fmt: skip


def message(error, call, *arguments, **parameters):
    with pytest.raises(error) as caught:
        call(*arguments, **parameters)
    return str(caught.value)


def test_each_folder_is_an_identity_with_images_at_any_depth(tmp_path):
    manifest = folder(write(tmp_path, "ben/2.jpg", "anna/b/x/1.png", "anna/a.JPG"))
    assert rows(manifest) == [
        ("train", "anna/a.JPG", "anna"),
        ("train", "anna/b/x/1.png", "anna"),
        ("train", "ben/2.jpg", "ben"),
    ]
    assert manifest.name == tmp_path.name
    assert manifest.root == tmp_path
    assert not manifest.has_cameras
    assert manifest.camids.tolist() == [0, 0, 0]
    assert manifest.notes == ()


@pytest.mark.parametrize(
    ("train", "query", "gallery"),
    [
        ("train", "query", "gallery"),
        ("training", "probe", "test"),
        ("bounding_box_train", "query", "bounding_box_test"),
        ("Train", "Query", "Test"),
    ],
)
def test_folders_of_splits_may_be_above(train, query, gallery, tmp_path):
    names = [f"{train}/a/1.png", f"{train}/b/1.png", f"{query}/c/1.png", f"{gallery}/c/2.png"]
    assert rows(folder(write(tmp_path, *names), title="mine")) == [
        ("train", names[0], "a"),
        ("train", names[1], "b"),
        ("query", names[2], "c"),
        ("gallery", names[3], "c"),
    ]


def test_own_names_of_splits_are_told_and_null_leaves_one_out(tmp_path):
    write(tmp_path, "fit/a/1.png", "val/b/1.png", "bad/c/1.png", "query/b/2.png")
    manifest = folder(tmp_path, splits={"fit": "train", "val": "gallery", "bad": None})
    assert [row[:2] for row in rows(manifest)] == [
        ("train", "fit/a/1.png"),
        ("query", "query/b/2.png"),
        ("gallery", "val/b/1.png"),
    ]
    assert manifest.notes == ("1 image left out, as splits says",)


def test_a_folder_beside_splits_that_is_none_is_an_error_that_says_both_ways_out(tmp_path):
    text = message(DataError, folder, write(tmp_path, "train/a/1.png", "val/b/1.png"))
    assert "has the splits 'train', 'val'; what 'val' stands for is not known" in text
    assert "`--param 'splits={val: gallery}'`" in text
    assert "`--param 'pattern={pid}/**'`" in text


def test_an_identity_may_be_called_test_with_a_pattern(tmp_path):
    write(tmp_path, "test/1.png", "anna/x/1.png")
    manifest = folder(tmp_path, pattern="{pid}/**")
    assert [row[2] for row in rows(manifest)] == ["anna", "test"]


def test_a_split_stands_for_a_split():
    text = message(ConfigError, folder, ".", splits={"val": "validation"}, title="mine")
    assert "data set mine: splits: val stands for 'validation'; expected train, query" in text


def test_plain_numbers_are_integers_and_zeros_in_front_are_kept(tmp_path):
    plain = folder(write(tmp_path / "plain", "2/a.png", "10/a.png", "9/a.png"))
    assert plain.identities.tolist() == [2, 9, 10]
    assert plain.pids.dtype == np.int64
    zeros = folder(write(tmp_path / "zeros", "007/a.png", "10/a.png", "8/a.png"))
    assert zeros.identities.tolist() == ["007", "10", "8"]


def test_b020_what_systems_leave_behind_is_no_image_and_no_identity(tmp_path):
    write(tmp_path, "a/1.png", "b/1.png")
    for name in ("a/._1.png", "a/Thumbs.db", "desktop.ini", ".DS_Store", "a/x.jpg/y.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"not read")
    write(tmp_path, ".git/c/1.png", "__MACOSX/d/1.png", "e.jpg/1.png")
    manifest = folder(tmp_path)
    assert [row[1] for row in rows(manifest)] == ["a/1.png", "b/1.png"]
    assert manifest.notes == ("8 stray files and folders ignored, for example .DS_Store",)


def test_b021_odd_names_give_the_same_rows(tmp_path):
    names = ["Märket, 1/a #1.png", "数据/ü,.png"]
    root = write(tmp_path / "re id" / "数据 #1" / "Märket,1501", *names)
    assert [row[1:] for row in rows(folder(root))] == [
        (names[0], "Märket, 1"),
        (names[1], "数据"),
    ]


def test_b007_market_names_without_folders_of_identities_name_the_reader_and_the_pattern(tmp_path):
    write(tmp_path, "bounding_box_train/0002_c1s1_000451_03.png", "query/0003_c1s1_000001_00.png")
    text = message(DataError, folder, tmp_path)
    assert "no folder of an identity" in text
    assert "such as bounding_box_train/0002_c1s1_000451_03.png" in text
    assert "market1501" in text
    pattern = text.rpartition("--param 'pattern=")[2].partition("'")[0]
    manifest = folder(tmp_path, pattern=pattern)
    assert manifest.summary().partition(": ")[2] == (
        "train 1 image of 1 id, query 1 image of 1 id, 1 camera"
    )


def test_b007_flat_images_of_market_names_alone(tmp_path):
    text = message(DataError, folder, write(tmp_path, "0002_c1s1_x.png"))
    assert "--param 'pattern={pid}_c{camid:d}*'" in text
    assert "market1501" not in message(DataError, folder, write(tmp_path / "other", "anna_1.png"))


def test_images_beside_the_folders_are_counted_and_one_is_shown(tmp_path):
    manifest = folder(write(tmp_path, "a/1.png", "b/1.png", "cover.png", "logo.png"))
    assert manifest.notes == (
        "2 images ignored, in no folder of an identity, for example cover.png",
    )


def test_a_folder_too_high_is_not_read_as_one_identity(tmp_path):
    write(tmp_path, "set/anna/1.png", "set/ben/1.png")
    text = message(DataError, folder, tmp_path)
    assert "holds one identity, set, with the folders anna, ben" in text
    assert f"`root: {tmp_path / 'set'}`" in text
    assert len(folder(write(tmp_path / "single", "anna/1.png"))) == 1


def test_a_folder_that_is_not_there_names_the_nearest_and_a_like_one(tmp_path):
    write(tmp_path, "giraffes/a/1.png")
    text = message(DataError, folder, tmp_path / "girafes" / "crops")
    assert f"there is no folder {tmp_path / 'girafes' / 'crops'}" in text
    assert f"the nearest that exists is {tmp_path}, with giraffes in it" in text
    assert f"did you mean {tmp_path / 'giraffes'}?" in text
    assert "set root" in text
    assert "it is a file" in message(DataError, folder, tmp_path / "giraffes/a/1.png")


def test_a_relative_folder_is_also_looked_for_under_the_data_sets(tmp_path, monkeypatch):
    write(tmp_path / "mine", "a/1.png", "b/1.png")
    monkeypatch.setenv("REID_DATASETS", str(tmp_path))
    assert len(folder("mine")) == 2
    assert "nor one under REID_DATASETS" in message(DataError, folder, "other_than_mine")


def test_a_folder_without_images_says_what_it_holds(tmp_path):
    (tmp_path / "list.txt").touch()
    assert "holds no image, only list.txt; expected root/IDENTITY/IMAGE" in message(
        DataError, folder, tmp_path
    )
    assert "holds no image, only list.txt; expected images whose paths fit {pid}/*" in message(
        DataError, folder, tmp_path, pattern="{pid}/*"
    )


def test_a_link_back_to_a_folder_above_is_not_followed(tmp_path):
    write(tmp_path / "set", "a/1.png", "b/1.png")
    write(tmp_path / "elsewhere", "c.png")
    (tmp_path / "set/a/back").symlink_to(tmp_path / "set")
    (tmp_path / "set/c").symlink_to(tmp_path / "elsewhere")
    assert [row[1] for row in rows(folder(tmp_path / "set"))] == ["a/1.png", "b/1.png", "c/c.png"]


def test_a_pattern_says_identity_camera_split_and_more(tmp_path):
    write(tmp_path, "query/7_c2s1_09.png", "test/7_c10s3_11.png", "train/8_c2s1_5.png")
    manifest = folder(tmp_path, pattern="{split}/{pid}_c{camid:d}s{place}_{frames:d}.png")
    assert rows(manifest) == [
        ("train", "train/8_c2s1_5.png", 8),
        ("query", "query/7_c2s1_09.png", 7),
        ("gallery", "test/7_c10s3_11.png", 7),
    ]
    assert manifest.has_cameras
    assert manifest.camids.tolist() == [2, 2, 10]
    assert manifest.columns["frames"].tolist() == [5, 9, 11]
    assert manifest.columns["place"].tolist() == ["1", "1", "3"]


def test_folders_of_cameras_keep_their_names(tmp_path):
    manifest = folder(write(tmp_path, "a/front/1.png", "a/01/2.png"), pattern="{pid}/{camid}/*")
    assert manifest.cameras.tolist() == ["01", "front"]


def test_paths_that_do_not_fit_are_counted_and_one_is_shown(tmp_path):
    write(tmp_path, "a/c1/1.png", "b/1.png", "c/c1/x/1.png")
    manifest = folder(tmp_path, pattern="{pid}/c{camid:d}/*")
    assert len(manifest) == 1
    assert manifest.notes == (
        "2 images ignored, whose paths do not fit {pid}/c{camid:d}/*, for example b/1.png",
    )


def test_a_pattern_that_nothing_fits_shows_where_it_looked_and_the_first_names(tmp_path):
    write(tmp_path, "crops/a/1.png", "crops/a/2.png", "crops/b/1.png", "crops/b/2.png")
    text = message(DataError, folder, tmp_path, pattern="crop/{pid}/*")
    assert f"none of the 4 images in {tmp_path} fits the pattern crop/{{pid}}/*" in text
    assert f"did you mean {tmp_path / 'crops'}?" in text
    assert "the first are crops/a/1.png, crops/a/2.png, crops/b/1.png and 1 more" in text


def test_a_split_of_a_pattern_that_is_not_known_is_named(tmp_path):
    write(tmp_path, "a_val.png", "a_train.png")
    text = message(DataError, folder, tmp_path, pattern="{pid}_{split}.png")
    assert "splits 'train', 'val'; what 'val' stands for is not known" in text
    manifest = folder(tmp_path, pattern="{pid}_{split}.png", splits={"val": "query"})
    assert manifest.splits.tolist() == ["train", "query"]


def test_nyala_is_read_with_encounters_as_cameras(tmp_path):
    # The real set is read in tests/cli/test_own_data.py; this is its layout.
    write(tmp_path, "bounding_box_train/0001_c3s2_000328_00.jpg")
    manifest = folder(tmp_path, pattern="{split}/{pid}_c{camid:d}s*.jpg")
    assert (manifest.pids.tolist(), manifest.camids.tolist()) == (["0001"], [3])


def test_a_set_is_called_as_its_folder_was_typed(tmp_path, monkeypatch):
    (tmp_path / "typed").symlink_to(write(tmp_path / "goal", "a/1.png", "b/1.png"))
    assert folder(tmp_path / "typed").name == "typed"
    monkeypatch.chdir(tmp_path / "goal")
    assert folder(".").name == "goal"


def test_the_order_is_not_that_of_the_disk(tmp_path, monkeypatch):
    names = [f"{pid}/{shot}.png" for pid in ("b", "a", "c") for shot in (2, 1)]
    expected = rows(folder(write(tmp_path, *names)))
    scandir = os.scandir

    class Backwards(list):
        def __enter__(self):
            return self

        def __exit__(self, *details):
            return None

    def backwards(path):
        with scandir(path) as entries:
            return Backwards(sorted(entries, key=lambda entry: entry.name, reverse=True))

    monkeypatch.setattr(os, "scandir", backwards)
    assert rows(folder(tmp_path)) == expected
    shutil.rmtree(tmp_path / "c")
    assert rows(folder(tmp_path)) == expected[:4]


def test_times_in_a_path_are_seconds_or_dates(tmp_path):
    write(tmp_path, "zoe/2024-08-15.png", "zoe/2024-08-16.png", "max/12.5.png")
    manifest = folder(tmp_path, pattern="{pid}/{times}.png")
    times = dict(zip(manifest.paths.tolist(), manifest.columns["times"].tolist(), strict=True))
    assert times["max/12.5.png"] == 12.5
    assert times["zoe/2024-08-16.png"] - times["zoe/2024-08-15.png"] == 24 * 3600
    write(tmp_path, "max/noon.png")
    with pytest.raises(DataError, match=r"max/noon\.png: times is 'noon'; expected seconds, or a"):
        folder(tmp_path, pattern="{pid}/{times}.png")


@pytest.mark.parametrize("name", ["frames", "viewids"])
def test_numbers_in_a_path_have_to_be_called_so(name, tmp_path):
    write(tmp_path, "zoe/1.png", "max/2.png")
    with pytest.raises(ConfigError, match=rf"{name} are numbers; write {{{name}:d}}"):
        folder(tmp_path, pattern=f"{{pid}}/{{{name}}}.png")
    manifest = folder(tmp_path, pattern=f"{{pid}}/{{{name}:d}}.png")
    assert manifest.columns[name].tolist() == [2, 1]
