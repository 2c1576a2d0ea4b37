"""B007 layout, B020 stray files, B021 odd paths, B008 any number of images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.folder import folder as read_folder
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.image_reader import read_image
from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_core.testing import write_tiny_market

NAMES = {
    "bounding_box_train": ["0007_c2s1_000010_00.jpg", "0003_c1s1_000001_00.jpg"],
    "query": ["0009_c1s1_000020_00.jpg"],
    "bounding_box_test": ["0009_c3s1_000030_00.jpg", "0000_c6s1_000040_00.jpg"],
}


@pytest.fixture
def make_set():
    def make(root, extra=()):
        for folder, names in NAMES.items():
            (root / folder).mkdir(parents=True)
            for name in names:
                Image.new("RGB", (4, 8), (9, 9, 9)).save(root / folder / name)
        for name in extra:
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_bytes(b"not read")
        return root

    return make


def columns(manifest):
    return [
        manifest.paths.tolist(), manifest.pids.tolist(), manifest.camids.tolist(),
        manifest.splits.tolist(),
    ]  # fmt: skip


EXPECTED = [
    [
        "bounding_box_train/0003_c1s1_000001_00.jpg",
        "bounding_box_train/0007_c2s1_000010_00.jpg",
        "query/0009_c1s1_000020_00.jpg",
        "bounding_box_test/0000_c6s1_000040_00.jpg",
        "bounding_box_test/0009_c3s1_000030_00.jpg",
    ],
    [3, 7, 9, 0, 9],
    [1, 2, 1, 6, 3],
    ["train", "train", "query", "gallery", "gallery"],
]


def test_rows_come_in_the_order_of_splits_and_sorted_names(make_set, tmp_path):
    manifest = market1501(make_set(tmp_path))
    assert columns(manifest) == EXPECTED
    assert manifest.name == "market1501"
    assert manifest.root == tmp_path
    assert manifest.pids.dtype == manifest.camids.dtype == np.int64


def test_what_systems_leave_behind_is_no_image_and_its_number_is_noted(make_set, tmp_path):
    stray = ["._0001_c1s1_000001_00.jpg", "Thumbs.db", ".DS_Store", "desktop.ini", "notes.txt"]
    make_set(tmp_path, [f"{folder}/{name}" for folder in NAMES for name in stray])
    (tmp_path / "bounding_box_train" / "0001_c1s1_000002_00.jpg").mkdir()
    manifest = market1501(tmp_path)
    assert columns(manifest) == EXPECTED
    assert manifest.notes == (
        "1 distractors (identity 0) in the gallery",
        "16 stray files and folders ignored, for example .DS_Store",
    )


def test_junk_is_dropped_and_distractors_stay_in_the_gallery_only(make_set, tmp_path):
    extra = [f"{folder}/{pid}_c1s1_000099_00.jpg" for folder in NAMES for pid in ("-1", "0000")]
    manifest = market1501(make_set(tmp_path, extra))
    assert -1 not in manifest.pids
    assert manifest.splits[manifest.pids == 0].tolist() == ["gallery", "gallery"]
    assert manifest.notes == (
        "3 junk images (identity -1) left out",
        "2 distractors (identity 0) outside the gallery left out",
        "2 distractors (identity 0) in the gallery",
    )


def test_images_of_other_names_are_counted_and_one_is_shown(make_set, tmp_path):
    extra = ["query/holiday.jpg", "query/-2_c1s1_000001_00.jpg", "query/0001_s1.PNG"]
    manifest = market1501(make_set(tmp_path, extra))
    assert columns(manifest) == EXPECTED
    assert manifest.notes[-1] == (
        "3 images ignored, whose names are not like 0002_c1s1_000451_03.jpg, "
        "for example -2_c1s1_000001_00.jpg"
    )


@pytest.mark.parametrize("suffix", ["JPG", "jpeg", "png", "bmp", "webp"])
def test_other_suffixes_are_read_too(suffix, make_set, tmp_path):
    name = f"query/0010_c1s1_000001_00.{suffix}"
    assert name in market1501(make_set(tmp_path, [name])).paths.tolist()


@pytest.mark.parametrize(
    "nested", ["", "Market-1501-v15.09.15", "market1501", "market1501/Market-1501-v15.09.15"]
)
def test_the_folder_or_the_one_above_may_be_named(nested, make_set, tmp_path):
    make_set(tmp_path / nested)
    manifest = market1501(str(tmp_path))
    assert columns(manifest) == EXPECTED
    assert manifest.root == tmp_path / nested


@pytest.mark.parametrize("variable", ["REID_DATASETS", "FASTREID_DATASETS"])
def test_a_relative_root_is_looked_for_under_the_data_set_folder(
    variable, make_set, tmp_path, monkeypatch
):
    make_set(tmp_path / "sets" / "Market-1501-v15.09.15")
    monkeypatch.setenv(variable, str(tmp_path / "sets"))
    monkeypatch.chdir(tmp_path)
    assert columns(market1501("Market-1501-v15.09.15")) == EXPECTED


def test_spaces_commas_and_other_alphabets_in_the_path_change_nothing(make_set, tmp_path):
    odd = make_set(tmp_path / "re id" / "数据 #1" / "Märket,1501")
    manifest = market1501(odd)
    assert columns(manifest) == columns(market1501(make_set(tmp_path / "plain")))
    for path in manifest.paths:
        assert read_image(odd / path).shape == (3, 8, 4)


def test_a_link_to_the_data_is_followed(make_set, tmp_path):
    make_set(tmp_path / "disk")
    (tmp_path / "link").symlink_to(tmp_path / "disk", target_is_directory=True)
    assert columns(market1501(tmp_path / "link")) == EXPECTED


def test_a_missing_folder_names_the_nearest_that_exists(tmp_path):
    with pytest.raises(DataError) as caught:
        market1501(tmp_path / "datasets" / "Market")
    assert str(caught.value) == (
        f"data set market1501: there is no folder {tmp_path / 'datasets' / 'Market'} (the nearest "
        f"that exists is {tmp_path}); set root to the folder that holds bounding_box_train, query, "
        "bounding_box_test"
    )


def test_a_missing_relative_folder_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        DataError, match=f"no folder sets/x, nor one under REID_DATASETS .*{tmp_path}"
    ):
        market1501("sets/x")


def test_a_folder_that_holds_something_else_is_described(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "readme.txt").touch()
    with pytest.raises(
        DataError, match=r"holds none of the folders bounding_box_train.*holds images;"
    ):
        market1501(tmp_path)


def test_an_empty_folder_is_described(tmp_path):
    with pytest.raises(DataError, match="it holds no folder; set root"):
        market1501(tmp_path)


@pytest.mark.parametrize("identities", ["bounding_box_train", ""])
def test_b007_a_folder_for_each_identity_is_told_and_its_reader_reads_it(identities, tmp_path):
    for pid in ("0002", "0007"):
        (tmp_path / identities / pid).mkdir(parents=True)
        (tmp_path / identities / pid / "a.jpg").touch()
    with pytest.raises(DataError) as caught:
        market1501(tmp_path)
    seen = (
        "found folders: 0002, 0007 (all images of a split lie in one folder here, not in one an "
        "identity)"
        if identities
        else "it holds 0002, 0007;"
    )
    assert seen in str(caught.value)
    assert str(caught.value).endswith(
        "if each of these folders is an identity, the data set `folder` reads them: "
        f"{{name: folder, root: {tmp_path}}}"
    )
    manifest = read_folder(tmp_path)
    assert manifest.summary().endswith("train 2 images of 2 ids, cameras not known")


def test_folders_without_images_are_not_taken_for_identities(tmp_path):
    (tmp_path / "query" / "empty").mkdir(parents=True)
    with pytest.raises(DataError) as caught:
        market1501(tmp_path)
    assert "data set `folder`" not in str(caught.value)


def test_more_distractors_stand_for_nobody_and_are_in_the_gallery(make_set, tmp_path):
    names = ["0000_c1s1_000001_00.jpg", "-1_c2s1_000002_00.jpg", "0003_c3s1_000003_00.jpg", "x.jpg"]
    (tmp_path / "images").mkdir()
    make_set(tmp_path)
    for name in names:
        (tmp_path / "images" / name).touch()
    assert columns(market1501(tmp_path)) == EXPECTED
    manifest = market1501(tmp_path, distractors_500k=True)
    added = [columns[len(EXPECTED[0]) :] for columns in columns(manifest)]
    assert added == [
        ["images/0000_c1s1_000001_00.jpg", "images/0003_c3s1_000003_00.jpg"],
        [0, 0],
        [1, 3],
        ["gallery", "gallery"],
    ]
    assert manifest.distractors == (0,)
    assert manifest.expected["gallery"] == Count(515913, 751)
    assert manifest.notes[0] == "1 junk images (identity -1) left out"
    assert manifest.notes[1] == "3 distractors (identity 0) in the gallery"


@pytest.mark.parametrize("with_folder", [True, False])
def test_more_distractors_that_are_not_there_are_an_error(with_folder, make_set, tmp_path):
    make_set(tmp_path)
    if with_folder:
        (tmp_path / "images").mkdir()
    with pytest.raises(DataError, match=r"distractors_500k is set, but there is no image .*images"):
        market1501(tmp_path, distractors_500k=True)


def test_b008_counts_are_expected_of_market_1501_only(make_set, tmp_path):
    make_set(tmp_path)
    assert market1501(tmp_path).expected == {
        "train": Count(12936, 751), "query": Count(3368, 750), "gallery": Count(15913, 751),
    }  # fmt: skip
    assert market1501(tmp_path, title="mine").expected == {}


def test_only_misnamed_images_are_an_error_that_shows_some(tmp_path):
    (tmp_path / "query").mkdir()
    for name in "dcba":
        (tmp_path / "query" / f"{name}.jpg").touch()
    with pytest.raises(DataError, match=r"names that do not fit: a\.jpg, b\.jpg, c\.jpg; expected"):
        market1501(tmp_path)


def test_a_training_set_alone_is_a_data_set(make_set, tmp_path):
    make_set(tmp_path)
    for folder in ("query", "bounding_box_test"):
        for path in (tmp_path / folder).iterdir():
            path.unlink()
        (tmp_path / folder).rmdir()
    assert market1501(tmp_path).summary() == ("market1501: train 2 images of 2 ids, 2 cameras")


@pytest.mark.parametrize(
    ("name", "train", "query", "gallery", "cameras"),
    [
        ("omniglot_reid", (136, 2720), (106, 530), (106, 1590), 5),
        ("lpc_reid", (100, 1600), (60, 240), (60, 720), 6),
        ("nyala_reid", (179, 1213), (54, 108), (58, 621), 6),
    ],
)
def test_real_data_sets_have_the_published_counts(
    name, train, query, gallery, cameras, shared_data
):
    manifest = market1501(shared_data / name)
    for split, (identities, images) in (("train", train), ("query", query), ("gallery", gallery)):
        part = manifest.select(split)
        assert (len(np.unique(part.pids)), len(part)) == (identities, images)
    assert len(np.unique(manifest.camids)) == cameras
    assert read_image(Path(manifest.root, manifest.paths[0])).shape[0] == 3


def test_own_data_has_its_own_title(tmp_path):
    write_tiny_market(tmp_path)
    assert market1501(tmp_path).name == "market1501"
    assert market1501(tmp_path, title="sprites").name == "sprites"
