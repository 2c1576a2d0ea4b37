import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.ilids import ilids
from reid_plugin_datasets.testing.person import write_ilids


def test_each_tested_person_has_one_query_and_another_image_in_the_gallery(tmp_path):
    manifest = ilids(write_ilids(tmp_path))
    query, gallery = manifest.select("query"), manifest.select("gallery")
    assert len(query) == len(gallery) == 3
    assert query.pids.tolist() == gallery.pids.tolist()
    assert not set(query.paths.tolist()) & set(gallery.paths.tolist())
    trained = manifest.select("train")
    assert not set(trained.pids.tolist()) & set(query.pids.tolist())
    # All images of those who are trained on: two to four of each.
    assert len(trained) == sum(2 + pid % 3 for pid in set(trained.pids.tolist()))


def test_cameras_are_not_known(tmp_path):
    manifest = ilids(write_ilids(tmp_path))
    assert not manifest.has_cameras
    assert manifest.camids.tolist() == [0] * len(manifest)
    assert manifest.notes[0] == "no cameras are known"


def test_a_number_draws_the_same_images(tmp_path):
    write_ilids(tmp_path)
    drawn = [tuple(ilids(tmp_path, split=n).select("query").paths.tolist()) for n in range(10)]
    assert len(set(drawn)) > 5
    assert tuple(ilids(tmp_path, split=4).select("query").paths.tolist()) == drawn[4]
    left_out = 18 - len(ilids(tmp_path, split=4))
    assert f"and {left_out} are left out" in ilids(tmp_path, split=4).notes[1]


def test_half_of_119_people_rounded_up_are_expected_in_the_test(tmp_path):
    manifest = ilids(write_ilids(tmp_path, identities=119))
    for split in ("query", "gallery"):
        assert manifest.expected[split] == manifest.count(split) == (60, 60)


def test_a_folder_of_other_names_is_refused(tmp_path):
    folder = tmp_path / "i-LIDS_Pedestrian" / "Persons"
    folder.mkdir(parents=True)
    (folder / "001.jpg").touch()
    with pytest.raises(DataError, match=r"do not fit: Persons/001.jpg; .*0001001.jpg"):
        ilids(tmp_path)
