from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from reid_core.errors import ConfigError
from reid_core.hooks.tracker import RunInfo
from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_plugin_tensorboard.tracker import TensorBoard


def run_in(folder: Path, first_step=0):
    return RunInfo(
        name="mine/1",
        recipe="mine",
        folder=folder,
        config={"seed": 3, "train": {"epochs": 2}},
        components=("loss triplet (a 0.1)",),
        environment={"torch": "2.6"},
        tags=("mine",),
        first_step=first_step,
    )


def events(folder: Path):
    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def scalars(folder: Path):
    found = events(folder)
    return {
        tag: [(event.step, round(event.value, 4)) for event in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }


def write(folder, rows, *, first_step=0):
    tracker = TensorBoard()
    tracker.import_library()
    assert tracker.start(run_in(folder, first_step)) == "tb"
    for step, row in rows:
        tracker.log(step, row)
    tracker.end("completed", {})


def test_a_run_can_be_looked_at(tmp_path):
    hook = {"name": "tensorboard", "folder": "events"}
    trainer = TinyTrainer(TinyRun(settings={"hooks": [hook]}).config(tmp_path))
    trainer.train()
    written = scalars(tmp_path / "run/events")
    (name,) = {evaluator.name for evaluator in trainer.evaluators}
    assert [step for step, _ in written["train/loss"]] == [2, 4, 6, 8]
    assert [step for step, _ in written[f"val/{name}/mAP"]] == [4, 8]
    assert written["epoch"][-1] == (8, 2.0)
    assert written[f"val/{name}/mAP"][-1][1] == round(trainer.results.latest()[name]["mAP"], 4)


def test_what_the_run_is_stands_there_as_text(tmp_path):
    write(tmp_path, [])
    found = events(tmp_path / "tb")
    texts = {
        tag.partition("/")[0]: found.Tensors(tag)[0].tensor_proto.string_val[0].decode()
        for tag in found.Tags()["tensors"]
    }
    assert texts == {
        "config": "    seed: 3\n    train:\n      epochs: 2\n",
        "components": "    - loss triplet (a 0.1)\n",
        "environment": "    torch: '2.6'\n",
    }


def test_steps_that_a_resumed_run_does_again_replace_the_old_ones(tmp_path):
    write(tmp_path, [(2, {"train/loss": 1.0}), (4, {"train/loss": 2.0})])
    write(tmp_path, [(4, {"train/loss": 9.0})], first_step=2)
    assert scalars(tmp_path / "tb")["train/loss"] == [(2, 1.0), (4, 9.0)]


def test_a_broken_tensorboard_costs_the_run_nothing_but_the_curves(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    settings = {"hooks": ["tensorboard"], "evaluate.every": 0}
    trainer = TinyTrainer(TinyRun(settings=settings).config(tmp_path))
    assert trainer.train().status == "completed"
    (line,) = [record.message for record in caplog.records if "switched off" in record.message]
    assert "hook 'tensorboard' (reid-plugin-tensorboard 0.1.0) failed in before_train" in line
    assert "ModuleNotFoundError" in line


@pytest.mark.parametrize("folder", ["", "..", "a/b", "/tmp"])
def test_the_folder_lies_in_the_run_folder(folder):
    with pytest.raises(ConfigError, match=r"hook tensorboard: folder is .*; expected a plain name"):
        TensorBoard(folder=folder)
