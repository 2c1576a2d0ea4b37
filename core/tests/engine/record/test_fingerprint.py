from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from reid_core.config import load_config
from reid_core.data.manifest import Manifest
from reid_core.data.packed_store import PackedStore
from reid_core.data.query_gallery import TestSet
from reid_core.engine import DefaultTrainer
from reid_core.engine.record.fingerprint import SetFingerprint, data_differences, fingerprints
from reid_core.errors import CheckpointError, UsageError
from reid_core.testing import write_tiny_market


@pytest.fixture
def rows(tmp_path):
    """Four images of two people, as files of 1 to 4 bytes."""
    for number in range(4):
        (tmp_path / f"{number}.jpg").write_bytes(b"x" * (number + 1))
    return Manifest(
        name="mine",
        root=tmp_path,
        paths=np.array([f"{number}.jpg" for number in range(4)]),
        pids=np.array([7, 7, 9, 9]),
        camids=np.array(["a", "b", "a", "b"]),
        splits=np.array(["train"] * 4),
        columns={"boxes": np.zeros((4, 4), dtype=np.float32), "species": np.array(["cat"] * 4)},
    )


def mark(rows, role="train"):
    return SetFingerprint.of(role, rows)


def test_a_mark_counts_what_there_is(rows):
    found = mark(rows)
    assert (found.role, found.name, found.rows) == ("train", "mine", 4)
    assert (found.identities, found.cameras) == (2, 2)
    assert found.files.startswith("4 files, sizes sha256:")
    assert mark(replace(rows, has_cameras=False)).cameras == 0


@pytest.mark.parametrize(
    "change",
    [
        {"paths": np.array(["0.jpg", "1.jpg", "3.jpg", "2.jpg"])},
        {"pids": np.array([7, 7, 9, 7])},
        {"pids": np.array(["7", "7", "9", "9"])},
        {"camids": np.array(["a", "b", "a", "a"])},
        {"camids": np.array(["ab", "", "a", "b"])},
        {"splits": np.array(["train"] * 3 + ["query"])},
        {"has_cameras": False},
        {"columns": {}},
        {"columns": {"boxes": np.ones((4, 4)), "species": np.array(["cat"] * 4)}},
        {"columns": {"boxes": np.zeros((4, 4)), "kinds": np.array(["cat"] * 4)}},
    ],
)
def test_any_column_that_changes_changes_the_mark(rows, change):
    assert mark(replace(rows, **change)).columns != mark(rows).columns


def test_how_a_column_is_stored_does_not_matter(rows, tmp_path):
    same = replace(
        rows,
        root=tmp_path,
        pids=rows.pids.astype(np.int32),
        camids=np.array(rows.camids.tolist()),
        splits=np.broadcast_to(np.array("train"), 4),
        columns={
            "species": np.array(["cat"] * 4, dtype=np.dtypes.StringDType()),
            "boxes": np.zeros((4, 4), dtype=">f8"),
        },
    )
    assert mark(same) == mark(rows)


def test_a_set_that_was_moved_is_the_same(rows, tmp_path):
    shutil.copytree(tmp_path, tmp_path / "moved", ignore=lambda *_: ["moved"])
    assert mark(replace(rows, root=tmp_path / "moved")) == mark(rows)


def test_a_file_of_another_size_is_seen_and_one_of_the_same_size_is_not(rows, tmp_path):
    before = mark(rows)
    (tmp_path / "2.jpg").write_bytes(b"yyy")
    assert mark(rows) == before
    (tmp_path / "2.jpg").write_bytes(b"yyyy")
    after = mark(rows)
    assert after.columns == before.columns
    assert after.files != before.files
    (tmp_path / "2.jpg").unlink()
    assert mark(rows).files not in (before.files, after.files)


def test_of_many_files_some_are_looked_at_the_first_and_the_last_among_them(rows, tmp_path):
    looked_at = []

    class Counting(type(rows.images)):
        def locate(self, path):
            looked_at.append(path)
            return super().locate(path)

    number = 2500
    many = Manifest(
        name="many",
        root=tmp_path,
        paths=np.array([f"{place}.jpg" for place in range(number)]),
        pids=np.arange(number),
        camids=np.arange(number),
        splits=np.array(["train"] * number),
        store=Counting(str(tmp_path)),
    )
    assert mark(many).files.startswith("1000 files")
    assert len(set(looked_at)) == 1000
    assert (looked_at[0], looked_at[-1]) == ("0.jpg", "2499.jpg")


def test_packed_images_are_known_by_the_size_of_their_file(rows, tmp_path):
    (tmp_path / "data.mdb").write_bytes(b"z" * 77)
    assert mark(replace(rows, store=PackedStore(str(tmp_path)))).files == "packed, 77 bytes"


def test_images_that_lie_elsewhere_are_known_by_the_kind_of_store(rows):
    class Cloud:
        def read(self, path):
            raise AssertionError(path)

        locate = read

    assert mark(replace(rows, store=Cloud())).files == "Cloud"


def test_no_rows_have_a_mark_too(rows):
    assert mark(rows.take(np.array([], dtype=np.intp))).rows == 0


def test_differences_name_set_and_fact(rows):
    test = TestSet("mine", replace(rows, splits=np.array(["query", "gallery"] * 2)), 2)
    was = [one.plain() for one in fingerprints([rows], [test])]
    assert json.loads(json.dumps(was)) == was
    assert data_differences(was, fingerprints([rows], [test])) == []
    assert data_differences(None, fingerprints([rows], [test])) == []
    fewer = rows.take(np.array([0, 1, 2]))
    found = data_differences(was, fingerprints([fewer, replace(rows, name="more")], []))
    assert [change.path for change in found] == [
        "data.train.mine.rows",
        "data.train.mine.columns",
        "data.train.mine.files",
        "data.test.mine",
        "data.train.more",
    ]
    assert (found[0].was, found[0].now) == (4, 3)
    assert (found[3].was, found[3].now) == ("4 rows", None)
    assert (found[4].was, found[4].now) == (None, "4 rows")


@pytest.fixture
def market(tmp_path):
    return write_tiny_market(tmp_path / "market")


@pytest.fixture
def config(tiny_recipe, market, tmp_path):
    changes = {
        "data.train": {"name": "market1501", "root": str(market)},
        "output": str(tmp_path / "run"),
        "train.epochs": 2,
        "evaluate.every": 0,
        "default_hooks": ["checkpoint", "metric_log"],
    }
    return load_config(tiny_recipe, changes)


def stopped_after_an_epoch(config):
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train(max_iter=len(trainer.data_loader))
    return trainer


def test_a_resume_with_other_data_needs_a_decision(config, market, caplog):
    stopped_after_an_epoch(config)
    picture = sorted((market / "bounding_box_train").iterdir())[0]
    picture.write_bytes(picture.read_bytes() + b"\0")
    with pytest.raises(UsageError) as raised:
        DefaultTrainer(config).resume_or_load("auto")
    first, changed, advice = str(raised.value).splitlines()
    assert first.startswith("the data is not that which ")
    assert first.endswith("step_00000004.pt was made with:")
    assert changed.startswith("  data.train.market1501.files: was '48 files, sizes sha256:")
    assert "put the data back as it was, or go on with it as it is now: --changes use" in advice
    with pytest.raises(UsageError, match="put the data back"):
        DefaultTrainer(config).resume_or_load("auto", changes="drop")
    trainer = DefaultTrainer(config)
    trainer.resume_or_load("auto", changes="use")
    assert "resume: data.train.market1501.files is " in caplog.text
    assert trainer.start_iter == 4


def test_other_identities_are_refused_whatever_was_decided(config, market):
    stopped_after_an_epoch(config)
    pictures = sorted((market / "bounding_box_train").iterdir())
    first = pictures[0].name.partition("_")[0]
    for picture in pictures:
        if picture.name.startswith(f"{first}_"):
            picture.rename(picture.with_name(picture.name.replace(first, "0999", 1)))
    for decision in (None, "use"):
        with pytest.raises(CheckpointError, match="trained on other identities"):
            DefaultTrainer(config).resume_or_load("auto", changes=decision)


def test_a_checkpoint_of_an_earlier_version_is_resumed_without_a_question(config, market):
    path = stopped_after_an_epoch(config).folder.checkpoints.paths()[0]
    state = torch.load(path, weights_only=True)
    assert state.pop("provenance")["seed"] == config.seed
    torch.save(state, path)
    picture = sorted((market / "bounding_box_train").iterdir())[0]
    picture.write_bytes(picture.read_bytes() + b"\0")
    trainer = DefaultTrainer(config)
    trainer.resume_or_load("auto")
    assert trainer.start_iter == 4
