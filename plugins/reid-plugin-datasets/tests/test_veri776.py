import pytest

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


def test_a_split_without_a_fitting_name_is_refused(tmp_path):
    write_veri776(tmp_path)
    for path in (tmp_path / "VeRi" / "image_query").iterdir():
        path.rename(path.with_name("car.jpg"))
    with pytest.raises(DataError, match=r"no usable image in .*image_query; names .*: car.jpg"):
        veri776(tmp_path)
