import sys

import numpy as np
import pytest

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.mars import mars
from reid_plugin_datasets.testing.video import write_mars

scipy_io = pytest.importorskip("scipy.io", reason="the tables of MARS need scipy")


@pytest.fixture
def root(tmp_path):
    return write_mars(tmp_path)


def rows_of(manifest, split):
    chosen = manifest.select(split)
    names = [path.rpartition("/")[2] for path in chosen.paths.tolist()]
    return list(zip(names, chosen.pids.tolist(), chosen.camids.tolist(), strict=True))


def test_every_frame_of_a_tracklet_is_a_row(root):
    manifest = mars(root)
    assert rows_of(manifest, "train") == [
        ("0001C1T0001F001.jpg", 1, 1),
        ("0001C1T0001F002.jpg", 1, 1),
        ("0001C1T0001F003.jpg", 1, 1),
        ("0001C2T0001F001.jpg", 1, 2),
        ("0003C6T0002F001.jpg", 3, 6),
        ("0003C6T0002F002.jpg", 3, 6),
    ]
    assert manifest.paths[0] == "bbox_train/0001/0001C1T0001F001.jpg"
    assert manifest.columns["frames"].tolist()[:6] == [1, 2, 3, 1, 1, 2]


def test_the_table_says_which_tracklets_are_queries(root):
    manifest = mars(root)
    assert rows_of(manifest, "query") == [
        ("0002C1T0001F001.jpg", 2, 1),
        ("0002C1T0001F002.jpg", 2, 1),
        ("0004C3T0002F001.jpg", 4, 3),
    ]
    assert [pid for _, pid, _ in rows_of(manifest, "gallery")] == [0] + [2] * 12 + [4]


def test_junk_is_dropped_and_distractors_stay_in_the_gallery(root):
    manifest = mars(root)
    assert -1 not in manifest.pids
    assert not any("00-1" in path for path in manifest.paths.tolist())
    assert manifest.distractors == (0,)
    assert "1 junk tracklets (identity -1) left out" in manifest.notes


def test_tracklets_are_numbered_as_the_tables_say_without_collision(root):
    manifest = mars(root)
    by_split = {
        split: np.unique(manifest.select(split).columns["tracklets"]).tolist()
        for split in ("train", "query", "gallery")
    }
    # Three lines of the training's table come before those of the test's.
    assert by_split == {"train": [1, 2, 3], "query": [6, 8], "gallery": [5, 7, 9]}


def test_the_tracklet_view_has_evenly_spread_frames_of_each_tracklet(root):
    manifest = mars(root, view="tracklet", frames_per_tracklet=3)
    columns = manifest.columns
    frames = columns["frames"][columns["tracklets"] == 3 + 4].tolist()
    assert frames == [1, 7, 12]
    assert np.unique(columns["tracklets"], return_counts=True)[1].max() == 3
    assert manifest.expected == {}
    assert "view tracklet: at most 3 evenly spread frames of each of 8 tracklets" in manifest.notes


def test_published_counts_are_those_of_all_frames(root):
    assert mars(root).expected == {"train": Count(509_914, 625)}


def test_names_and_table_of_different_releases_are_refused(root):
    path = root / "MARS" / "info" / "train_name.txt"
    path.write_text(path.read_text().replace("0003C6", "0003C5"))
    with pytest.raises(
        DataError, match=r"line 5 of the names of bbox_train is '0003C5T.*identity 3 and camera 6"
    ):
        mars(root)


def test_a_table_that_goes_beyond_the_names_is_refused(root):
    path = root / "MARS" / "info" / "train_name.txt"
    path.write_text("\n".join(path.read_text().split()[:-1]))
    with pytest.raises(DataError, match=r"tracklet 3 of .* has frames 5 to 6, but .* has 5 names"):
        mars(root)


def test_a_query_that_is_no_tracklet_is_refused(root):
    scipy_io.savemat(root / "MARS" / "info" / "query_IDX.mat", {"query_IDX": [[7.0]]})
    with pytest.raises(DataError, match=r"names tracklet 7, but tracks_test_info.mat has 6"):
        mars(root)


def test_frames_that_are_missing_are_noted_and_a_folder_of_them_refused(root):
    folder = root / "MARS" / "bbox_train"
    (folder / "0003" / "0003C6T0002F001.jpg").unlink()
    assert any(
        "1 of the 6 images of info/train_name.txt are missing" in n for n in mars(root).notes
    )
    for path in folder.glob("*/*.jpg"):
        path.unlink()
    with pytest.raises(
        DataError, match=r"info/train_name.txt names bbox_train/0001/0001C1T0001F001"
    ):
        mars(root)


def test_a_missing_table_is_named(root):
    (root / "MARS" / "info" / "query_IDX.mat").unlink()
    with pytest.raises(DataError, match=r"MARS lacks info/query_IDX.mat"):
        mars(root)


def test_without_scipy_the_message_says_what_to_install(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(
        DataError, match=r"needs scipy; type pip install 'reid-plugin-datasets\[mat\]'"
    ):
        mars(root)


def test_a_wrong_view_is_refused_before_files_are_read(tmp_path):
    with pytest.raises(ConfigError, match=r"view is 'frames'; expected image or tracklet"):
        mars(tmp_path, view="frames")
