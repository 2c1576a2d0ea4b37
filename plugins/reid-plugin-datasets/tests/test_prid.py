import pytest

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.prid import prid
from reid_plugin_datasets.testing.person import write_prid


def test_only_people_that_both_cameras_saw_are_trained_on_or_searched_for(tmp_path):
    manifest = prid(write_prid(tmp_path))
    train, query, gallery = (manifest.select(split) for split in ("train", "query", "gallery"))
    trained = set(train.pids.tolist())
    assert len(trained) == 4
    assert trained < set(range(1, 9))
    assert train.camids.tolist() == [1] * 4 + [2] * 4
    assert set(query.pids.tolist()) == set(range(1, 9)) - trained
    assert set(query.camids.tolist()) == {1}
    # The strangers of camera B are in the gallery; those of camera A have the same numbers.
    assert sorted(gallery.pids.tolist()) == [*sorted(query.pids.tolist()), 201, 202, 203]
    assert set(gallery.camids.tolist()) == {2}
    assert not any(path.startswith("cam_a/person_02") for path in manifest.paths.tolist())
    assert manifest.notes[1].startswith("2 images of camera A left out")


def test_a_person_whom_one_camera_lacks_is_not_searched_for(tmp_path):
    folder = write_prid(tmp_path) / "prid_2011" / "single_shot"
    (folder / "cam_b" / "person_0008.png").unlink()
    manifest = prid(tmp_path)
    assert 8 not in manifest.pids.tolist()
    assert manifest.notes[1].startswith("3 images of camera A left out")


def test_counts_of_the_paper_are_known(tmp_path):
    assert prid(write_prid(tmp_path)).expected["gallery"] == Count(649, 649)


def test_wrong_input_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="data set prid: split is -1"):
        prid(tmp_path, split=-1)
    (tmp_path / "prid_2011").mkdir()
    with pytest.raises(DataError, match=r"lacks cam_a, cam_b; it holds prid_2011"):
        prid(tmp_path)
