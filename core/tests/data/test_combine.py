"""Training on query and gallery too: classes add up, whatever sets call their identities."""

from pathlib import Path

import numpy as np
import pytest

from reid_core.data.cameras import CameraMap
from reid_core.data.combine import all_for_training
from reid_core.data.labels import LabelMap
from reid_core.data.manifest import Manifest
from reid_core.data.nobody import is_distractor, is_junk, stands_for_nobody
from reid_core.data.query_gallery import TestSet


def table(name, *, train, test, cameras=6, distractors=(0,)):
    """A set with two images of each identity; of the test's the first is the query."""
    pids = [pid for pid in [*train, *test] for _ in range(2)]
    splits = ["train"] * (2 * len(train)) + ["query", "gallery"] * len(test)
    return Manifest(
        name=name,
        root=Path("there"),
        paths=np.array([f"{row}.jpg" for row in range(len(pids))], dtype=np.str_),
        pids=np.array(pids),
        camids=np.arange(len(pids)) % cameras,
        splits=np.array(splits, dtype=np.str_),
        distractors=distractors,
    )


def test_case_b003_the_same_number_in_training_and_test_is_two_people():
    combined = all_for_training(table("zoo", train=["5", "6"], test=["5", "7"]))
    assert combined.identities.tolist() == ["test/5", "test/7", "train/5", "train/6"]
    assert set(combined.splits.tolist()) == {"train"}
    assert LabelMap.of([combined]).num_classes == 4


def test_case_b003_classes_of_joined_sets_add_up_and_so_do_cameras():
    market = table("market1501", train=range(1, 752), test=[])
    duke = table("dukemtmc", train=range(1, 703), test=[], cameras=8)
    assert LabelMap.of([market, duke]).num_classes == 1453
    assert CameraMap.of([market, duke]).num_cameras == 14
    # CUHK03 numbers its 767 training and its 700 test identities alike.
    cuhk03 = all_for_training(table("cuhk03", train=range(1, 768), test=range(1, 701)))
    assert LabelMap.of([cuhk03]).num_classes == 1467


def test_the_cameras_of_training_and_test_stay_the_same_cameras():
    combined = all_for_training(table("zoo", train=[1, 2, 3], test=[4, 5, 6]))
    assert CameraMap.of([combined]).num_cameras == 6


def test_junk_and_distractors_are_not_trained_on():
    manifest = table("zoo", train=[1, 2], test=[-1, 0, 3])
    combined = all_for_training(manifest)
    assert combined.identities.tolist() == ["test/3", "train/1", "train/2"]
    assert len(combined) == 6
    assert stands_for_nobody(manifest).sum() == 4


def test_zero_is_an_identity_like_others_where_the_set_does_not_call_it_a_distractor():
    combined = all_for_training(table("zoo", train=[0, 1], test=[0, 2], distractors=()))
    assert combined.identities.tolist() == ["test/0", "test/2", "train/0", "train/1"]


def test_junk_is_junk_where_identities_are_text_and_distractors_are_numbers_however_written():
    manifest = table("zoo", train=["anna"], test=["-1", "0000", "0", "7", " -1 ", "zero"])
    assert sorted(set(manifest.pids[is_junk(manifest)].tolist())) == [" -1 ", "-1"]
    assert sorted(set(manifest.pids[is_distractor(manifest)].tolist())) == ["0", "0000"]
    assert all_for_training(manifest).identities.tolist() == [
        "test/7",
        "test/zero",
        "train/anna",
    ]
    test = TestSet.of(manifest)
    codes = dict(zip(test.rows.pids.tolist(), test.codes()[0].tolist(), strict=True))
    assert {pid: codes[pid] for pid in ("-1", " -1 ", "0000", "0")} == {
        "-1": -1,
        " -1 ": -1,
        "0000": 0,
        "0": 0,
    }
    assert codes["7"] > 0
    assert codes["zero"] > 0
    assert len({codes["7"], codes["zero"]}) == 2


def test_zero_in_text_is_somebody_where_the_set_names_no_distractor():
    manifest = table("zoo", train=["anna"], test=["0", "1"], distractors=())
    assert not is_distractor(manifest).any()
    assert TestSet.of(manifest).codes()[0].min() > 0


@pytest.mark.parametrize("pids", [["0000", "anna"], [3, 4]])
def test_nobody_is_left_out_where_all_are_somebody(pids):
    assert not stands_for_nobody(table("zoo", train=[], test=pids, distractors=())).any()
