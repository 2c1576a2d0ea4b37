import pytest

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.testing.person import write_viper
from reid_plugin_datasets.viper import viper


def pids(manifest, split, camera):
    rows = manifest.select(split)
    return rows.pids[rows.camids == camera].tolist()


def test_half_of_the_people_are_trained_on_and_the_others_searched_for(tmp_path):
    manifest = viper(write_viper(tmp_path))
    trained = pids(manifest, "train", 1)
    assert len(trained) == 4
    assert pids(manifest, "train", 2) == trained
    assert pids(manifest, "query", 1) == sorted(set(range(8)) - set(trained))
    assert pids(manifest, "query", 2) == pids(manifest, "gallery", 1) == []
    # Whom camera A did not see is a stranger in the gallery.
    assert pids(manifest, "gallery", 2) == [*pids(manifest, "query", 1), 873]
    assert manifest.paths.tolist()[0] == "cam_a/000_0.bmp"
    for split in range(10):
        assert 873 not in viper(tmp_path, split=split).select("train").pids.tolist()


def test_a_number_gives_the_same_people_and_the_cameras_may_be_exchanged(tmp_path):
    write_viper(tmp_path)
    there, back = viper(tmp_path, split=3), viper(tmp_path, split=3, query="b")
    assert pids(back, "train", 1) == pids(there, "train", 1)
    assert pids(back, "gallery", 1) == pids(there, "query", 1)
    assert pids(back, "query", 2) == pids(there, "gallery", 2)
    assert len({tuple(pids(viper(tmp_path, split=n), "train", 1)) for n in range(10)}) > 5


def test_the_rule_is_noted_and_the_published_counts_are_known(tmp_path):
    manifest = viper(write_viper(tmp_path), split=3, query="b")
    assert manifest.notes[0].startswith("split 3 of 0 to 9: half of the identities")
    assert manifest.notes[1] == "queries: camera B"
    assert manifest.expected["query"] == Count(316, 316)


def test_wrong_parameters_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="data set viper: split is 10; expected"):
        viper(tmp_path, split=10)
    with pytest.raises(ConfigError, match="data set viper: query is 'c'; expected a or b"):
        viper(tmp_path, query="c")


def test_a_camera_without_a_fitting_name_is_refused(tmp_path):
    write_viper(tmp_path)
    for path in (tmp_path / "VIPeR" / "cam_b").iterdir():
        path.unlink()
    (tmp_path / "VIPeR" / "cam_b" / "man.bmp").touch()
    with pytest.raises(DataError, match=r"cam_b; names that do not fit: cam_b/man.bmp; .*001_45"):
        viper(tmp_path)
