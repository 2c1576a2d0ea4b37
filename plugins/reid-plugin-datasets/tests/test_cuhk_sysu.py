"""Cut out people, or photographs with boxes."""

import pytest

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.cuhk_sysu import cuhk_sysu
from reid_plugin_datasets.testing.person import write_cuhk_sysu, write_cuhk_sysu_annotation


def test_cut_out_people_are_for_training_and_without_cameras(tmp_path):
    manifest = cuhk_sysu(write_cuhk_sysu(tmp_path))
    assert manifest.pids.tolist() == [12, 12, 1, 1, 9]
    assert set(manifest.splits.tolist()) == {"train"}
    assert not manifest.has_cameras
    assert manifest.expected == {"train": Count(34574, 11934)}
    assert dict(manifest.columns) == {}


def test_photographs_come_with_a_box_of_each_person(tmp_path):
    pytest.importorskip("scipy")
    manifest = cuhk_sysu(write_cuhk_sysu_annotation(tmp_path))
    assert manifest.pids.tolist() == [1, 1, 9, 12, 12, 12]
    assert manifest.paths.tolist()[:3] == [f"Image/SSM/{name}.jpg" for name in ("s2", "s17", "s2")]
    assert manifest.columns["boxes"].tolist() == [
        [1.0, 2.0, 2.0, float(pid)] for pid in manifest.pids.tolist()
    ]
    assert not manifest.has_cameras
    assert all((manifest.root / path).is_file() for path in manifest.paths)


def test_the_people_of_the_test_can_be_left_out(tmp_path):
    pytest.importorskip("scipy")
    manifest = cuhk_sysu(write_cuhk_sysu_annotation(tmp_path), identities="train")
    assert sorted(set(manifest.pids.tolist())) == [1, 12]
    assert manifest.notes[-1] == "people and boxes of annotation/test/train_test/Train.mat"


def test_cut_out_people_do_not_say_who_is_tested(tmp_path):
    with pytest.raises(ConfigError, match=r"identities is 'train', but .* holds cropped images"):
        cuhk_sysu(write_cuhk_sysu(tmp_path), identities="train")


def test_both_forms_are_named_where_neither_is(tmp_path):
    with pytest.raises(DataError, match=r"lacks annotation/Person.mat.*; or to .* cropped_images"):
        cuhk_sysu(tmp_path)


def test_an_annotation_of_another_form_is_refused(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    folder = write_cuhk_sysu_annotation(tmp_path) / "CUHK-SYSU" / "annotation"
    savemat(folder / "Person.mat", {"Person": {"idname": "p1", "scene": {"imname": "s1.jpg"}}})
    with pytest.raises(DataError, match=r"person 1 is not as expected .*expected idname, and"):
        cuhk_sysu(tmp_path)
    savemat(folder / "Person.mat", {"Person": [[1.0, 2.0]]})
    with pytest.raises(DataError, match=r"person 1 is not as expected .*is no structure"):
        cuhk_sysu(tmp_path)
