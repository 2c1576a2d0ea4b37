import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.regdb import regdb
from reid_plugin_datasets.testing.modalities import write_regdb


@pytest.fixture
def root(tmp_path):
    return write_regdb(tmp_path)


def test_both_modalities_are_trained_on_under_the_lists_identities(root):
    train = regdb(root).select("train")
    assert train.pids.tolist() == [0, 0, 1, 1] * 2
    assert train.columns["modalities"].tolist() == ["rgb"] * 4 + ["infrared"] * 4
    assert train.camids.tolist() == [1] * 4 + [2] * 4
    assert train.paths[0] == "Visible/1/male_back_v_00001_1.bmp"


@pytest.mark.parametrize(
    ("direction", "query", "gallery"),
    [
        ("visible_to_thermal", "rgb", "infrared"),
        ("thermal_to_visible", "infrared", "rgb"),
    ],
)
def test_queries_are_of_one_modality_and_the_gallery_of_the_other(root, direction, query, gallery):
    manifest = regdb(root, direction=direction)
    assert set(manifest.select("query").columns["modalities"].tolist()) == {query}
    assert set(manifest.select("gallery").columns["modalities"].tolist()) == {gallery}


def test_identities_of_the_test_are_not_those_of_the_training(root):
    # B003: both lists count from 0, and mean different people.
    manifest = regdb(root)
    assert manifest.select("query").pids.tolist() == [2, 2, 3, 3]
    assert manifest.select("gallery").pids.tolist() == [2, 2, 3, 3]


def test_no_match_shares_the_query_camera(root):
    manifest = regdb(root)
    assert manifest.has_cameras
    query, gallery = manifest.select("query"), manifest.select("gallery")
    assert not set(query.camids.tolist()) & set(gallery.camids.tolist())


def test_a_trial_whose_list_is_missing_is_named(root):
    with pytest.raises(DataError, match=r"lacks idx/train_visible_4.txt"):
        regdb(root, trial=4)


def test_a_missing_image_is_noted(root):
    (root / "RegDB" / "Visible" / "1" / "male_back_v_00001_1.bmp").unlink()
    notes = regdb(root).notes
    assert any("1 of the 4 images of idx/train_visible_1.txt are missing" in note for note in notes)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"trial": 0}, "trial is 0; expected a whole number from 1 to 10"),
        ({"direction": "visible"}, "direction is 'visible'; expected visible_to_thermal or"),
    ],
)
def test_wrong_parameters_are_refused(root, parameters, message):
    with pytest.raises(ConfigError, match=message):
        regdb(root, **parameters)
