import pytest

from reid_core.data.image_reader import read_image
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.occluded import occluded_reid, p_dukemtmc, partial_reid
from reid_plugin_datasets.testing.occluded import (
    write_occluded_reid,
    write_p_dukemtmc,
    write_partial_reid,
)


def test_occluded_images_are_searched_for_in_whole_ones(tmp_path):
    manifest = occluded_reid(write_occluded_reid(tmp_path))
    assert manifest.select("query").paths.tolist() == [
        "occluded_body_images/001/001_01.tif",
        "occluded_body_images/001/001_02.tif",
        "occluded_body_images/002/002_01.tif",
        "occluded_body_images/002/002_02.tif",
    ]
    assert manifest.pids.tolist() == [1, 1, 2, 2, 1, 2]
    assert manifest.columns["occluded"].tolist() == [True] * 4 + [False] * 2
    assert tuple(manifest.expected["query"]) == (1_000, 200)


def test_its_images_can_be_read(tmp_path):
    manifest = occluded_reid(write_occluded_reid(tmp_path))
    assert read_image(manifest.root / str(manifest.paths[0])).shape == (3, 8, 4)


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (write_occluded_reid, occluded_reid),
        (write_partial_reid, partial_reid),
        (write_p_dukemtmc, p_dukemtmc),
    ],
)
def test_no_camera_is_made_up(tmp_path, write, read):
    manifest = read(write(tmp_path))
    assert not manifest.has_cameras
    assert len(manifest.cameras) == 0
    assert any("no cameras are known" in note for note in manifest.notes)


@pytest.mark.parametrize("queries", ["partial", "occluded"])
def test_partial_reid_has_two_kinds_of_queries(tmp_path, queries):
    manifest = partial_reid(write_partial_reid(tmp_path), queries=queries)
    assert manifest.paths.tolist() == [
        f"{queries}_body_images/001_001.jpg",
        f"{queries}_body_images/002_001.jpg",
        "whole_body_images/001_001.jpg",
        "whole_body_images/002_001.jpg",
    ]
    assert manifest.splits.tolist() == ["query"] * 2 + ["gallery"] * 2
    assert manifest.pids.tolist() == [1, 2, 1, 2]


def test_another_kind_of_query_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"queries is 'whole'; expected partial or occluded"):
        partial_reid(tmp_path, queries="whole")


def test_p_dukemtmc_trains_on_both_kinds(tmp_path):
    manifest = p_dukemtmc(write_p_dukemtmc(tmp_path))
    assert manifest.pids.tolist() == [1, 7, 1, 7, 19, 21, 19, 21]
    assert manifest.splits.tolist() == ["train"] * 4 + ["query"] * 2 + ["gallery"] * 2
    assert manifest.columns["occluded"].tolist() == [True, True, False, False] * 2
    assert any("2019" in note for note in manifest.notes)


def test_published_parts_of_p_dukemtmc_add_up_to_the_whole(tmp_path):
    expected = p_dukemtmc(write_p_dukemtmc(tmp_path)).expected
    assert sum(count.images for count in expected.values()) == 24_143
    assert expected["train"].identities + expected["query"].identities == 1_299


def test_a_flat_copy_is_told_from_the_layout(tmp_path):
    folder = tmp_path / "Occluded_REID" / "occluded_body_images"
    write_occluded_reid(tmp_path)
    for path in sorted(folder.glob("*/*.tif")):
        path.rename(folder / path.name)
    with pytest.raises(DataError, match=r"occluded_body_images/001_01.tif.*like 001/001_01.tif"):
        occluded_reid(tmp_path)


def test_a_missing_kind_is_named(tmp_path):
    with pytest.raises(DataError, match=r"data set p_dukemtmc: .* lacks train/occluded_body_im"):
        p_dukemtmc(tmp_path)
