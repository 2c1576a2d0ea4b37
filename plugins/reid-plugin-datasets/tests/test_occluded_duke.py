import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.occluded_duke import occluded_duke
from reid_plugin_datasets.testing.occluded import (
    OCCLUDED_DUKE,
    write_occluded_duke,
    write_occluded_duke_lists,
)


def facts(manifest):
    names = [path.rpartition("/")[2] for path in manifest.paths.tolist()]
    columns = (manifest.pids, manifest.camids, manifest.splits)
    return sorted(zip(names, *(column.tolist() for column in columns), strict=True))


def test_folders_are_the_splits_and_names_say_identity_and_camera(tmp_path):
    manifest = occluded_duke(write_occluded_duke(tmp_path))
    assert manifest.splits.tolist() == ["train"] * 2 + ["query"] * 2 + ["gallery"] * 3
    assert manifest.pids.tolist() == [1, 7, 19, 21, 19, 21, 900]
    assert manifest.camids.tolist() == [2, 3, 1, 8, 5, 1, 4]


def test_lists_cut_dukemtmc_into_the_same_set(tmp_path):
    sorted_already = occluded_duke(write_occluded_duke(tmp_path / "a"))
    root = write_occluded_duke_lists(tmp_path / "b")
    cut = occluded_duke(root, lists=root)
    assert facts(cut) == facts(sorted_already)
    assert cut.root.name == "DukeMTMC-reID"
    assert "bounding_box_test/0021_c8_f0008516.jpg" in cut.select("query").paths.tolist()


def test_an_image_of_a_list_that_is_nowhere_is_named(tmp_path):
    root = write_occluded_duke_lists(tmp_path)
    (root / "DukeMTMC-reID" / "bounding_box_train" / "0007_c3_f0053710.jpg").unlink()
    with pytest.raises(
        DataError, match=r"1 of the 2 images of .*train.list .*0007_c3_f0053710.jpg"
    ):
        occluded_duke(root, lists=root)


def test_a_list_that_is_not_there_is_named(tmp_path):
    root = write_occluded_duke_lists(tmp_path)
    (root / "gallery.list").unlink()
    with pytest.raises(DataError, match=r"gallery.list cannot be read"):
        occluded_duke(root, lists=root)


def test_lists_without_folders_are_explained_by_what_lacks(tmp_path):
    with pytest.raises(DataError, match=r"lacks bounding_box_train, query, bounding_box_test"):
        occluded_duke(tmp_path)


def test_the_retraction_is_noted_and_counts_are_known(tmp_path):
    manifest = occluded_duke(write_occluded_duke(tmp_path))
    assert any("2019" in note for note in manifest.notes)
    assert {split: tuple(count) for split, count in manifest.expected.items()} == {
        "train": (15_618, 702),
        "query": (2_210, 519),
        "gallery": (17_661, 1_110),
    }


def test_names_that_do_not_fit_are_shown(tmp_path):
    write_occluded_duke(tmp_path)
    folder = tmp_path / "Occluded_Duke" / "query"
    for number, name in enumerate(OCCLUDED_DUKE["query"]):
        (folder / name).rename(folder / f"person{number}.jpg")
    with pytest.raises(DataError, match=r"query/person0.jpg, query/person1.jpg.*0019_c1_f0051230"):
        occluded_duke(tmp_path)
