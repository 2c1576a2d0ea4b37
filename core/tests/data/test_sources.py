"""The data sets of a run: read once, told apart, cut into training and test."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.config.components import Component
from reid_core.data.labels import LabelMap
from reid_core.data.manifest import Manifest
from reid_core.data.sources import Sources, TestSet, read_sets
from reid_core.errors import ConfigError, DataError, PluginError


def table(*, name="zoo", train=(1, 2), query=(8,), gallery=(8, 9), notes=()):
    pids = [*train, *query, *gallery]
    splits = ["train"] * len(train) + ["query"] * len(query) + ["gallery"] * len(gallery)
    return Manifest(
        name=name,
        root=Path("there"),
        paths=np.array([f"{row}.jpg" for row in range(len(pids))], dtype=np.str_),
        pids=np.array(pids),
        camids=np.arange(len(pids)),
        splits=np.array(splits, dtype=np.str_),
        notes=notes,
    )


def of(*names):
    return [Component(name=name) for name in names]


def test_a_set_named_for_both_is_read_once(local_dataset):
    calls = []

    def zoo():
        calls.append(1)
        return table()

    local_dataset("zoo", zoo)
    sources = Sources(train=of("zoo"), test=of("zoo"))
    assert calls == [1]
    (train,), (test,) = sources.train_manifests(), sources.test_sets()
    assert train.pids.tolist() == [1, 2]
    assert test.rows.pids.tolist() == [8, 8, 9]
    assert test.num_query == 1


def test_one_identity_alone_is_nothing_to_train_on(local_dataset):
    local_dataset("zoo", lambda: table(train=(7, 7, 7)))
    local_dataset("park", lambda: table(name="park", train=(7,)))
    with pytest.raises(DataError) as caught:
        Sources(train=of("zoo"), test=[]).train_manifests()
    assert str(caught.value) == (
        "data set zoo (there): its 3 training images show one identity, 7, so there is nobody to "
        "tell it from; training needs two identities at least: check how identities are read "
        "('reid-data stats'), or join another set in data.train"
    )
    # The 7 of another set is somebody else.
    assert len(Sources(train=of("zoo", "park"), test=[]).train_manifests()) == 2


def test_other_parameters_make_another_set(local_dataset):
    def zoo(*, animals: int = 2):
        return table(train=range(animals))

    local_dataset("zoo", zoo)
    train = [Component(name="zoo", animals=3), Component(name="zoo", animals=5)]
    sets = Sources(train=train, test=[]).train_manifests()
    assert [len(manifest) for manifest in sets] == [3, 5]
    assert [manifest.name for manifest in sets] == ["zoo", "zoo-2"]
    assert LabelMap.of(sets).num_classes == 8


def test_a_new_name_is_not_one_that_is_taken(local_dataset):
    for key, name in (("a", "zoo"), ("b", "zoo"), ("c", "zoo-2"), ("d", "zoo")):
        local_dataset(key, lambda name=name: table(name=name))
    sets = Sources(train=of("a", "b", "c", "d"), test=[]).train_manifests()
    assert [manifest.name for manifest in sets] == ["zoo", "zoo-3", "zoo-2", "zoo-4"]


@pytest.mark.parametrize("field", ["train", "test"])
def test_a_set_named_twice_is_refused_before_it_is_read(field, local_dataset):
    def zoo():
        raise AssertionError("it was read")

    local_dataset("zoo", zoo)
    lists = {"train": [], "test": [], field: of("zoo", "zoo")}
    with pytest.raises(ConfigError, match=rf"data\.{field}: data set zoo is named twice"):
        Sources(**lists)


def test_query_rows_come_first_whatever_the_order_in_the_manifest(local_dataset):
    mixed = table(train=(1,), query=(8, 9), gallery=(9, 8)).take(np.array([4, 2, 0, 3, 1]))
    local_dataset("zoo", lambda: mixed)
    (test,) = Sources(train=[], test=of("zoo")).test_sets()
    assert test.rows.splits.tolist() == ["query", "query", "gallery", "gallery"]
    assert test.rows.pids.tolist() == [9, 8, 8, 9]
    assert (test.name, test.num_query) == ("zoo", 2)


def test_without_evaluation_there_are_no_test_sets(local_dataset):
    local_dataset("zoo", table)
    assert Sources(train=of("zoo"), test=[]).test_sets_or_none() == []
    assert len(Sources(train=of("zoo"), test=of("zoo")).test_sets_or_none()) == 1


def test_a_set_without_training_images_is_named_with_its_folder(local_dataset):
    local_dataset("zoo", lambda: table(train=()))
    sources = Sources(train=of("zoo"), test=of("zoo"))
    assert len(sources.test_sets()) == 1
    with pytest.raises(DataError, match=r"data set zoo \(there\) has no training images; choose"):
        sources.train_manifests()


@pytest.mark.parametrize("split", ["query", "gallery"])
def test_a_set_without_query_or_gallery_says_how_to_train_all_the_same(split, local_dataset):
    local_dataset("zoo", lambda: table(**{split: ()}))
    sources = Sources(train=of("zoo"), test=of("zoo"))
    assert len(sources.train_manifests()) == 1
    with pytest.raises(
        DataError,
        match=rf"has no {split} images, .*--set evaluate.every=0 --set evaluate.at_start=false",
    ):
        sources.test_sets()


@pytest.mark.parametrize("split", ["query", "gallery"])
def test_case_b052_under_a_protocol_that_pools_one_of_query_and_gallery_is_enough(
    split, local_dataset
):
    local_dataset("zoo", lambda: table(**{split: ()}))
    (test,) = Sources(train=of("zoo"), test=of("zoo"), pools=True).test_sets()
    assert set(test.rows.splits.tolist()) == {"query", "gallery"} - {split}
    assert test.num_query == (0 if split == "query" else len(test.rows))
    with pytest.raises(DataError, match=r"by --set evaluate\.protocol=leave_one_out, or leave"):
        Sources(train=of("zoo"), test=of("zoo")).test_sets()


def test_under_a_protocol_that_pools_training_images_alone_are_the_pool(local_dataset, caplog):
    caplog.set_level(logging.INFO, logger="reid_core")
    local_dataset("zoo", lambda: table(train=(1, 1, 2), query=(), gallery=()))
    local_dataset("park", lambda: table(name="park", train=(1, 1, 2), query=(), gallery=()))
    (test,) = Sources(train=of("park"), test=of("zoo"), pools=True).test_sets()
    assert (test.num_query, len(test.rows), test.caveats) == (3, 3, ())
    # The doctor finds images that are both trained on and tested by their splits.
    assert set(test.rows.splits.tolist()) == {"query"}
    assert (
        "data set zoo: it has no query and no gallery, so each of its images (3) searches all "
        "others" in caplog.messages
    )


@pytest.mark.parametrize("combine_all", [False, True])
def test_a_set_that_is_trained_on_and_taken_whole_says_so(combine_all, local_dataset, caplog):
    local_dataset("zoo", lambda: table(train=(1, 1, 2), query=(), gallery=()))
    sources = Sources(train=of("zoo"), test=of("zoo"), pools=True, combine_all=combine_all)
    (test,) = sources.test_sets()
    told = "its images are trained on: its results say nothing about new identities"
    assert test.caveats == (told,)
    assert f"data set zoo: {told}" in caplog.text
    assert len(sources.train_manifests()[0]) == 3


def test_without_query_and_gallery_the_protocol_that_needs_none_is_named(local_dataset):
    local_dataset("zoo", lambda: table(query=(), gallery=()))
    advice = r"'reid-data split', let each .* by --set evaluate\.protocol=leave_one_out"
    with pytest.raises(DataError, match=rf"has no query images, .*{advice}, or leave .*every=0"):
        Sources(train=of("zoo"), test=of("zoo")).test_sets()
    with pytest.raises(DataError, match=rf"has no query images, .*{advice}$"):
        Sources(train=[], test=of("zoo"), trains=False).test_sets()


def test_an_empty_set_is_no_pool(local_dataset):
    local_dataset("zoo", lambda: table(train=(), query=(), gallery=()))
    with pytest.raises(DataError, match=r"has no query images, .*'reid-data split', or leave"):
        Sources(train=of("zoo"), test=of("zoo"), pools=True).test_sets()


@pytest.mark.parametrize(("built", "kind"), [([("a.jpg", 1, 2)], "list"), (None, "NoneType")])
def test_a_factory_that_returns_something_else_is_named_with_its_origin(built, kind, local_dataset):
    local_dataset("zoo", lambda: built)
    with pytest.raises(PluginError, match=rf"data set zoo of local .* gave a {kind}; expected a"):
        Sources(train=of("zoo"), test=[])


def test_summary_and_notes_are_logged_once_a_set(local_dataset, caplog):
    caplog.set_level(logging.INFO, logger="reid_core")
    local_dataset("zoo", lambda: table(notes=("3 images ignored",)))
    Sources(train=of("zoo"), test=of("zoo"))
    assert caplog.messages == [
        "data set zoo: train 2 images of 2 ids, query 1 image of 1 id, gallery 2 images of 2 "
        "ids, 5 cameras",
        "data set zoo: 3 images ignored",
    ]


def test_identities_both_trained_and_tested_are_counted(local_dataset, caplog):
    local_dataset("zoo", lambda: table(train=(1, 2, 3), query=(3,), gallery=(3, 4)))
    Sources(train=of("zoo"), test=of("zoo"))
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warnings == [
        "data set zoo: 1 identity is both in training and in query or gallery, for example 3: "
        "its results say nothing about new identities"
    ]


def test_the_same_number_in_another_set_is_no_overlap(local_dataset, caplog):
    local_dataset("zoo", lambda: table(train=(1, 2, 3), query=(3,)))  # not tested on
    local_dataset("park", lambda: table(name="park", query=(3,), gallery=(3, 4)))
    Sources(train=of("zoo"), test=of("park"))
    assert not [r for r in caplog.records if r.levelno == logging.WARNING]


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint16])
def test_integer_codes_keep_their_values(dtype):
    pids = np.array([7, 0, 7], dtype=dtype)
    rows = replace(table(train=()), pids=pids, camids=np.array([3, 1, 3], dtype=dtype))
    pid_codes, camid_codes = TestSet("zoo", rows, 1).codes()
    assert pid_codes.tolist() == [7, 0, 7]
    assert camid_codes.tolist() == [3, 1, 3]
    assert {pid_codes.dtype, camid_codes.dtype} == {np.dtype(np.int64)}


def test_junk_and_distractors_keep_their_meaning():
    rows = replace(table(train=()), pids=np.array([5, -1, 0]))
    assert TestSet("zoo", rows, 1).codes()[0].tolist() == [5, -1, 0]


def test_text_codes_are_numbered_from_one_and_are_never_junk_or_distractor():
    rows = replace(
        table(train=()), pids=np.array(["rex", "ada", "rex"]), camids=np.array(["b", "a", "c"])
    )
    pid_codes, camid_codes = TestSet("zoo", rows, 1).codes()
    assert pid_codes.tolist() == [2, 1, 2]
    assert camid_codes.tolist() == [2, 1, 3]


def test_combine_all_trains_on_the_test_and_says_that_its_figures_do_not_compare(
    local_dataset, caplog
):
    local_dataset("zoo", lambda: table(train=(1, 2), query=(8,), gallery=(8, 9)))
    sources = Sources(train=of("zoo"), test=of("zoo"), combine_all=True)
    (train,), (test,) = sources.train_manifests(), sources.test_sets()
    assert train.pids.tolist() == ["train/1", "train/2", "test/8", "test/8", "test/9"]
    assert test.rows.pids.tolist() == [8, 8, 9], "the test is what it was"
    (caveat,) = test.caveats
    assert "its query and gallery are trained on (data.combine_all): not comparable" in caveat
    assert any(caveat in message for message in caplog.messages)


def test_combine_all_has_no_caveat_for_another_set(local_dataset):
    local_dataset("zoo", table)
    local_dataset("farm", lambda: table(name="farm"))
    sources = Sources(train=of("zoo"), test=of("farm"), combine_all=True)
    assert [test.caveats for test in sources.test_sets()] == [()]


def test_case_b005_an_overlap_is_said_beside_the_figures_too(local_dataset):
    local_dataset("zoo", lambda: table(train=(1, 2, 3), query=(3,), gallery=(3, 4)))
    (test,) = Sources(train=of("zoo"), test=of("zoo")).test_sets()
    assert test.caveats == (
        "1 identity is both in training and in query or gallery, for example 3: its results "
        "say nothing about new identities",
    )


def test_distractors_and_junk_are_no_overlap(local_dataset):
    plain = table(train=(0, 1), query=(3,), gallery=(3, 0, -1))
    local_dataset("zoo", lambda: replace(plain, distractors=(0,)))
    (test,) = Sources(train=of("zoo"), test=of("zoo")).test_sets()
    assert test.caveats == ()


def test_sets_are_read_whole_under_names_of_their_own(local_dataset):
    local_dataset("a", table)
    local_dataset("b", table)
    assert [m.name for m in read_sets(of("a", "b"))] == ["zoo", "zoo-2"]
    assert len(read_sets(of("a"))[0]) == 5


def test_case_b018_both_sides_are_told_and_a_missing_test_set_stops_before_training(
    local_dataset, caplog
):
    caplog.set_level(logging.INFO, "reid_core")
    local_dataset("mine", lambda: table(name="mine"))
    local_dataset("zoo", table)
    Sources(train=of("mine"), test=of("zoo"))
    told = " | ".join(caplog.messages)
    assert "data set mine: train 2 images" in told
    assert "data set zoo: train 2 images" in told
    with pytest.raises(DataError, match=r"data set market1501: there is no folder .*nowhere"):
        Sources(train=of("mine"), test=[Component(name="market1501", root="nowhere")])


def test_a_trained_set_that_is_tested_too_keeps_its_name(local_dataset):
    def zoo(*, place: str = "a"):
        return replace(table(), root=Path(place))

    local_dataset("zoo", zoo)
    one, other = Component(name="zoo", place="a"), Component(name="zoo", place="b")
    sources = Sources(train=[one, other], test=[other, one])
    # By its name the cameras of a trained set are found.
    trained = {manifest.name: manifest.root for manifest in sources.train_manifests()}
    assert trained == {"zoo": Path("a"), "zoo-2": Path("b")}
    tested = {test.name: test.rows.root for test in sources.test_sets()}
    assert tested == trained
    (only,) = Sources(train=[one, other], test=[other]).test_sets()
    assert only.name == "zoo-2"
