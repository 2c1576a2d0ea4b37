import numpy as np
import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.dukemtmc_videoreid import dukemtmc_videoreid
from reid_plugin_datasets.testing.video import write_dukemtmc_videoreid


@pytest.fixture
def root(tmp_path):
    return write_dukemtmc_videoreid(tmp_path)


def test_names_say_identity_camera_and_frame(root):
    train = dukemtmc_videoreid(root).select("train")
    assert train.paths[0] == "train/0001/0003/0001C6F0001X3012.jpg"
    assert train.pids.tolist() == [1, 1, 1, 1, 7, 7]
    assert train.camids.tolist() == [6, 6, 6, 2, 1, 1]
    assert train.columns["frames"].tolist() == [1, 2, 3, 1, 1, 2]


def test_names_with_underscores_are_read_alike(root):
    paths = dukemtmc_videoreid(root).paths.tolist()
    assert "train/0007/0001/0007_C1_F0001_X3012.jpg" in paths


def test_tracklets_are_numbered_through_the_whole_set(root):
    manifest = dukemtmc_videoreid(root)
    tracklets = manifest.columns["tracklets"]
    assert np.unique(tracklets).tolist() == list(range(1, 9))
    # Each has one identity and one split.
    for number in range(1, 9):
        rows = tracklets == number
        assert len(set(zip(manifest.pids[rows], manifest.splits[rows], strict=True))) == 1


def test_queries_gallery_and_distractors_keep_their_identities(root):
    manifest = dukemtmc_videoreid(root)
    assert manifest.select("query").identities.tolist() == [2, 4]
    assert manifest.select("gallery").identities.tolist() == [2, 4, 900]


def test_the_tracklet_view_has_evenly_spread_frames(root):
    query = dukemtmc_videoreid(root, view="tracklet", frames_per_tracklet=3).select("query")
    assert query.columns["frames"].tolist() == [1, 6, 11, 1]


def test_the_retraction_is_noted(root):
    assert any("2019" in note for note in dukemtmc_videoreid(root).notes)


def test_frames_without_a_tracklet_folder_are_shown(tmp_path):
    write_dukemtmc_videoreid(tmp_path)
    folder = tmp_path / "DukeMTMC-VideoReID" / "query"
    for path in sorted(folder.glob("*/*/*.jpg")):
        path.rename(path.parent.parent / path.name)
    with pytest.raises(DataError, match=r"do not fit: query/0002/0002C4F0001X3012.jpg.*0001/0003/"):
        dukemtmc_videoreid(tmp_path)
