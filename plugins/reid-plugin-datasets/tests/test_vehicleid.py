import numpy as np
import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.testing import write_vehicleid
from reid_plugin_datasets.vehicleid import vehicleid


def test_one_image_of_each_test_identity_is_the_gallery(tmp_path):
    manifest = vehicleid(write_vehicleid(tmp_path))
    assert manifest.select("train").pids.tolist() == [10, 10, 11]
    gallery, query = manifest.select("gallery"), manifest.select("query")
    assert sorted(gallery.pids.tolist()) == [20, 21]
    assert sorted(query.pids.tolist()) == [20, 20, 21, 21]
    assert not set(gallery.paths) & set(query.paths)


def test_no_two_images_share_a_camera_so_that_no_match_is_left_out(tmp_path):
    manifest = vehicleid(write_vehicleid(tmp_path))
    assert len(np.unique(manifest.camids)) == len(manifest)
    assert "no cameras are known" in manifest.notes[0]


def test_draws_differ_and_repeat(tmp_path):
    write_vehicleid(tmp_path)
    drawn = [tuple(vehicleid(tmp_path, draw=draw).splits.tolist()) for draw in range(10)]
    assert len(set(drawn)) > 3
    assert tuple(vehicleid(tmp_path, draw=4).splits.tolist()) == drawn[4]


def test_a_size_whose_list_is_missing_is_named(tmp_path):
    write_vehicleid(tmp_path)
    with pytest.raises(DataError, match=r"lacks train_test_split/test_list_2400.txt"):
        vehicleid(tmp_path, size="large")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"size": "huge"}, "size is 'huge'; expected small"), ({"draw": -1}, "draw is -1")],
)
def test_wrong_parameters_are_refused(tmp_path, parameters, message):
    with pytest.raises(DataError, match=message):
        vehicleid(write_vehicleid(tmp_path), **parameters)
