import shutil

import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.cuhk02 import cuhk02
from reid_plugin_datasets.testing.person import write_cuhk02


def test_people_of_different_pairs_are_different_people(tmp_path):
    manifest = cuhk02(write_cuhk02(tmp_path))
    assert manifest.count("train") == Count(32, 8)
    assert manifest.count("query") == manifest.count("gallery") == Count(4, 2)
    assert sorted(set(manifest.select("query").pids.tolist())) == ["P5-001", "P5-002"]
    assert set(manifest.select("gallery").camids.tolist()) == {"P5-2"}
    assert len(manifest.cameras) == 10
    assert manifest.paths.tolist()[:2] == ["P1/cam1/001_1.png", "P1/cam1/001_2.png"]


def test_published_counts_add_up_to_1816_people(tmp_path):
    expected = cuhk02(write_cuhk02(tmp_path)).expected
    assert expected["train"].identities + expected["query"].identities == 1816
    assert expected["train"].images + expected["query"].images + expected["gallery"].images == 7264


def test_a_missing_pair_is_named(tmp_path):
    write_cuhk02(tmp_path)
    shutil.rmtree(tmp_path / "cuhk02" / "Dataset" / "P4")
    with pytest.raises(DataError, match=r"Dataset lacks P4/cam1, P4/cam2; it holds P1, P2, P3, P5"):
        cuhk02(tmp_path)
