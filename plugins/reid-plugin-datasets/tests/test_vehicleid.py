import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.testing import write_vehicleid
from reid_plugin_datasets.vehicleid import vehicleid


def test_one_image_of_each_test_identity_is_the_gallery(tmp_path):
    manifest = vehicleid(write_vehicleid(tmp_path))
    assert manifest.select("train").pids.tolist() == [10, 10, 11]
    gallery, query = manifest.select("gallery"), manifest.select("query")
    assert sorted(gallery.pids.tolist()) == [20, 21]
    assert sorted(query.pids.tolist()) == [20, 20, 21, 21]
    assert not set(gallery.paths) & set(query.paths)


def test_cameras_are_not_known(tmp_path):
    manifest = vehicleid(write_vehicleid(tmp_path))
    assert not manifest.has_cameras
    assert set(manifest.camids.tolist()) == {0}


@pytest.mark.parametrize(
    ("size", "counts"),
    [
        ("small", {"query": (5693, 800), "gallery": (800, 800)}),
        ("medium", {"query": (11777, 1600), "gallery": (1600, 1600)}),
        ("large", {"query": (17377, 2400), "gallery": (2400, 2400)}),
    ],
)
def test_published_counts_are_expected(tmp_path, size, counts):
    lists = write_vehicleid(tmp_path) / "VehicleID_V1.0" / "train_test_split"
    for number in (1600, 2400):
        (lists / f"test_list_{number}.txt").write_text("0004 20\n0005 20\n")
    assert vehicleid(tmp_path, size=size).expected == {"train": (113346, 13164), **counts}


def test_images_that_are_not_there_are_named(tmp_path):
    image = write_vehicleid(tmp_path) / "VehicleID_V1.0" / "image"
    (image / "0002.jpg").unlink()
    assert "1 of the 3 images of train_list.txt are missing" in vehicleid(tmp_path).notes[1]
    for path in image.iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"train_list.txt names image/0001.jpg, .*holds nothing"):
        vehicleid(tmp_path)


def test_draws_differ_and_repeat(tmp_path):
    write_vehicleid(tmp_path)
    drawn = [tuple(vehicleid(tmp_path, draw=draw).splits.tolist()) for draw in range(10)]
    assert len(set(drawn)) > 3
    assert tuple(vehicleid(tmp_path, draw=4).splits.tolist()) == drawn[4]


def test_a_draw_does_not_depend_on_the_order_of_the_vehicles(tmp_path):
    lists = write_vehicleid(tmp_path) / "VehicleID_V1.0" / "train_test_split"
    drawn = [set(vehicleid(tmp_path, draw=draw).select("gallery").paths) for draw in range(10)]
    (lists / "test_list_800.txt").write_text(
        "0006 21\n0007 21\n0009 21\n0004 20\n0005 20\n0008 20\n"
    )
    again = [set(vehicleid(tmp_path, draw=draw).select("gallery").paths) for draw in range(10)]
    assert again == drawn


def test_a_size_whose_list_is_missing_is_named(tmp_path):
    write_vehicleid(tmp_path)
    with pytest.raises(DataError, match=r"lacks train_test_split/test_list_2400.txt"):
        vehicleid(tmp_path, size="large")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"size": "huge"}, "size is 'huge'; expected small"), ({"draw": -1}, "draw is -1")],
)
def test_wrong_parameters_are_refused(tmp_path, parameters, message):
    with pytest.raises(ConfigError, match=message):
        vehicleid(write_vehicleid(tmp_path), **parameters)
