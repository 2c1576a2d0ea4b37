import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.testing import write_image, write_veri776
from reid_plugin_datasets.veri776 import veri776


def test_names_say_identity_and_camera(tmp_path):
    manifest = veri776(write_veri776(tmp_path))
    assert manifest.splits.tolist() == ["train", "train", "query", "gallery", "gallery"]
    assert manifest.pids.tolist() == [1, 3, 2, 2, 2]
    assert manifest.camids.tolist() == [1, 20, 2, 3, 4]
    assert dict(manifest.columns) == {}


def test_views_come_from_the_last_word_of_a_line(tmp_path):
    manifest = veri776(write_veri776(tmp_path), views=["keypoints.txt"])
    assert manifest.columns["viewids"].tolist() == [5, 6, 5, 5, 6]


def test_an_image_without_a_view_is_named(tmp_path):
    write_veri776(tmp_path)
    write_image(tmp_path / "VeRi" / "image_test" / "0002_c007_00000000_0.jpg")
    with pytest.raises(DataError, match=r"1 of 6 images have no view.*0002_c007_00000000_0.jpg"):
        veri776(tmp_path, views=["keypoints.txt"])


def test_a_view_that_is_no_number_is_refused(tmp_path):
    write_veri776(tmp_path)
    (tmp_path / "VeRi" / "words.txt").write_text("a.jpg front\n")
    with pytest.raises(DataError, match=r"line 1: it ends in 'front'"):
        veri776(tmp_path, views=["words.txt"])
    with pytest.raises(
        DataError, match=r"no file .*VeRi/nothing.txt, nor .*/nothing.txt; set views"
    ):
        veri776(tmp_path, views=["nothing.txt"])


def test_a_split_without_a_fitting_name_is_refused(tmp_path):
    write_veri776(tmp_path)
    for path in (tmp_path / "VeRi" / "image_query").iterdir():
        path.rename(path.with_name("car.jpg"))
    with pytest.raises(
        DataError, match=r"in .*image_query; names .*: image_query/car.jpg; .*0001_c001_"
    ):
        veri776(tmp_path)


def test_what_is_ignored_is_noted(tmp_path):
    folder = write_veri776(tmp_path) / "VeRi" / "image_test"
    write_image(folder / "car.jpg")
    write_image(folder / "._0002_c003_00084280_0.jpg")
    (folder / "0002_c009_x.jpg").mkdir()
    (folder / "Thumbs.db").touch()
    assert veri776(tmp_path).notes == (
        "1 images ignored, whose names are not like 0001_c001_00016450_0.jpg, for example "
        "image_test/car.jpg",
        "3 stray files and folders ignored",
    )


def test_published_counts_are_expected(tmp_path):
    assert veri776(write_veri776(tmp_path)).expected == {
        "train": (37778, 576),
        "query": (1678, 200),
        "gallery": (11579, 200),
    }


def test_a_copy_that_lacks_one_vehicle_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("reid_plugin_datasets.veri776._TRAIN_LACKING_ONE", Count(2, 2))
    manifest = veri776(write_veri776(tmp_path))
    assert manifest.expected["train"] == (2, 2)
    assert manifest.notes == ("a copy with 575 of the 576 training vehicles, as others have too",)


def write_tracks(root, *lines, name="test_track.txt"):
    write_veri776(root)
    (root / "VeRi" / name).write_text("".join(f"{line}\n" for line in lines))
    return root


def test_the_lines_of_the_tracks_file_number_the_tracks(tmp_path):
    write_tracks(
        tmp_path,
        "0002_c002_00030600_0.jpg 0002_c002_00030605_1.jpg ",
        "",
        "0002_c004_00084280_0.jpg",
        "0002_c003_00084280_0.jpg",
    )
    manifest = veri776(tmp_path)
    assert manifest.columns["tracklets"].tolist() == [-1, -1, 1, 3, 2]
    assert manifest.notes == ()


def test_a_line_may_begin_with_the_name_of_its_track(tmp_path):
    write_tracks(
        tmp_path,
        "0002_c003_t0084280 0002_c003_00084280_0.jpg",
        "0002_c004_t0084280 0002_c004_00084280_0.jpg",
        name="test_track_VeRi.txt",
    )
    assert veri776(tmp_path).columns["tracklets"].tolist() == [-1, -1, -1, 1, 2]


def test_tracks_that_lack_a_gallery_image_are_left_out_and_noted(tmp_path):
    write_tracks(tmp_path, "0002_c003_00084280_0.jpg")
    manifest = veri776(tmp_path)
    assert "tracklets" not in manifest.columns
    assert manifest.notes == (
        "tracks left out: 1 gallery images are in no line of test_track.txt, for example "
        "image_test/0002_c004_00084280_0.jpg",
    )


def test_a_track_of_two_cameras_is_left_out_and_noted(tmp_path):
    write_tracks(tmp_path, "0002_c003_00084280_0.jpg 0002_c004_00084280_0.jpg")
    manifest = veri776(tmp_path)
    assert "tracklets" not in manifest.columns
    assert manifest.notes == (
        "tracks left out: line 1 of test_track.txt has images of several vehicles or cameras",
    )
