from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reid_core.errors import PluginError
from reid_plugin_hooks.tensorboard import TensorBoard

event_accumulator = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard not installed"
)


def trainer_in(folder: Path, start_iter=0):
    return SimpleNamespace(
        folder=SimpleNamespace(path=folder),
        start_iter=start_iter,
        evaluators=[SimpleNamespace(name="market1501")],
        data_loader=[None] * 4,
    )


def scalars(folder: Path):
    events = event_accumulator.EventAccumulator(str(folder / "tb"))
    events.Reload()
    return {
        tag: [(event.step, round(event.value, 4)) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_numbers_are_written_under_the_usual_tags(tmp_path):
    hook, trainer = TensorBoard(), trainer_in(tmp_path)
    hook.before_train(trainer)
    hook.on_log(trainer, 2, {"loss": 1.5, "loss/triplet": 0.5, "lr": 0.1, "time/step": 0.2})
    hook.on_log(trainer, 4, {"market1501/mAP": 0.25})
    hook.after_train()
    assert scalars(tmp_path) == {
        "train/loss": [(2, 1.5)],
        "train/loss_triplet": [(2, 0.5)],
        "lr": [(2, 0.1)],
        "time/step": [(2, 0.2)],
        "val/market1501/mAP": [(4, 0.25)],
        "epoch": [(2, 0.5), (4, 1.0)],
    }


def test_steps_that_a_resumed_run_does_again_replace_the_old_ones(tmp_path):
    for start, values in ((0, {2: 1.0, 4: 2.0}), (2, {4: 9.0})):
        hook, trainer = TensorBoard(), trainer_in(tmp_path, start)
        hook.before_train(trainer)
        for step, value in values.items():
            hook.on_log(trainer, step, {"loss": value})
        hook.after_train()
    assert scalars(tmp_path)["train/loss"] == [(2, 1.0), (4, 9.0)]


def test_without_tensorboard_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(PluginError, match=r"pip install 'reid-plugin-hooks\[tensorboard\]'"):
        TensorBoard()
