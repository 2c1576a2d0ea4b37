"""Weights and buffers that are not finite: what is found, what is never saved."""

from __future__ import annotations

import logging

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted
from reid_core.engine.faults.finite_tensors import FiniteTensors
from reid_core.errors import DataError, TrainingError
from reid_core.hookspecs import hookimpl

INF = float("inf")


class Trainer(DefaultTrainer):
    """Whose losses or running statistics are not finite in some steps, losses still being so."""

    bad_buffers = bad_losses = ()

    def build_model(self):
        model = super().build_model()
        model.register_buffer("mask", torch.tensor([0.0, -INF]))
        return model

    def compute_gradients(self, batch):
        output = super().compute_gradients(batch)
        if self.iter in self.bad_buffers:
            self.statistics.fill_(INF)
        return output

    def forward(self, batch):
        output = super().forward(batch)
        if self.iter in self.bad_losses:
            output = type(output)({name: value * INF for name, value in output.losses.items()})
        return output

    @property
    def statistics(self):
        buffers = dict(self.model.named_buffers())
        return next(value for name, value in buffers.items() if name.endswith("running_var"))


class Watch:
    """Notes which checkpoints there are after each step; makes weights infinite after one."""

    def __init__(self, bad=None, stop=None):
        self.kept, self.bad, self.stop = [], bad, stop

    @hookimpl(tryfirst=True)
    def after_step(self, trainer, step):
        self.kept.append(kept(trainer))
        if step == self.bad:
            next(trainer.model.parameters()).data.fill_(INF)
        if step == self.stop:
            trainer.request_stop(15)


def kept(trainer):
    trainer.hooks_by_id["checkpoint"].wait(trainer)
    return [int(path.stem[5:]) for path in reversed(trainer.folder.checkpoints.paths())]


def prepared(recipe, folder, mode, watch=None, *, every_steps=1, **settings):
    checkpoint = {"name": "checkpoint", "every": None, "every_steps": every_steps}
    plain = {"output": str(folder / "run"), "evaluate.every": 0, "train.on_nan": mode}
    hooks = ["lr_schedule", checkpoint, "evaluation", "metric_log"]
    trainer = Trainer(load_config(recipe, {**plain, "default_hooks": hooks, **settings}))
    trainer.hooks_by_id = dict(trainer.hooks.items())
    trainer.register_hooks([watch or Watch()])
    return trainer


def is_finite(path):
    state = torch.load(path, weights_only=True)["model"]
    return all(value.isfinite().all() for name, value in state.items() if name != "mask")


def test_a_buffer_that_is_not_finite_ends_the_run_and_is_in_no_checkpoint(tiny_recipe, tmp_path):
    trainer = prepared(tiny_recipe, tmp_path, "stop")
    trainer.bad_buffers = (3,)
    with pytest.raises(TrainingError, match=r"^buffer \S+running_var is not finite at step 3 \(lo"):
        trainer.train()
    assert kept(trainer) == [2, 3]
    assert all(map(is_finite, trainer.folder.checkpoints.paths()))


def test_skipping_puts_a_buffer_back(tiny_recipe, tmp_path):
    trainer = prepared(tiny_recipe, tmp_path, "skip")
    trainer.bad_buffers = (3,)
    trainer.train()
    assert trainer.skipped_steps == 1
    assert trainer.statistics.isfinite().all()
    assert trainer.model.mask.tolist() == [0, -INF], "a mask is as it was, and was no reason"


def test_skipped_steps_drop_no_checkpoint_of_steps_that_count(tiny_recipe, tmp_path):
    watch = Watch(stop=9)
    trainer = prepared(tiny_recipe, tmp_path, "skip", watch)
    trainer.bad_losses = (4, 5, 6, 8, 9)
    with pytest.raises(Interrupted):
        trainer.train()
    # What a hook sees in step 8 was saved after step 7, as it was before.
    assert watch.kept[4:] == [[3, 4]] * 4 + [[4, 8]] * 2
    assert kept(trainer) == [8, 10], "an interrupted run is saved where it stands"


@pytest.mark.parametrize(
    ("mode", "told", "last"),
    [
        ("stop", "weights are not finite after step 6", 5),
        # The last of 10 steps in a row that may be skipped is the last of the run.
        ("skip", "weights are not finite after step 16", 5),
        ("rollback", "weights are not finite after step 6", 16),
    ],
)
def test_weights_that_are_not_finite_are_not_saved(tiny_recipe, tmp_path, caplog, mode, told, last):
    trainer = prepared(tiny_recipe, tmp_path, mode, Watch(bad=5))
    if mode == "rollback":
        trainer.train()
        assert told in caplog.text
    else:
        with pytest.raises(TrainingError, match=f"{told}.*last good checkpoint is .*00005.pt"):
            trainer.train()
    assert kept(trainer) == [last - 1, last]
    assert all(map(is_finite, trainer.folder.checkpoints.paths()))


@pytest.mark.parametrize("every_steps", [1, 100])
def test_a_run_does_not_end_well_with_weights_that_are_not_finite(
    tiny_recipe, tmp_path, every_steps
):
    trainer = prepared(tiny_recipe, tmp_path, "skip", Watch(bad=15), every_steps=every_steps)
    with pytest.raises(TrainingError, match="weights are not finite after step 16: "):
        trainer.train()


def test_a_rollback_passes_over_a_checkpoint_that_is_not_finite(tiny_recipe, tmp_path, caplog):
    class Spoil:
        @hookimpl
        def before_step(self, trainer, step):
            if step == 6:
                kept(trainer)
                path = trainer.folder.checkpoints.path_of(6)
                state = torch.load(path, weights_only=True)
                next(v for n, v in state["model"].items() if n.endswith("running_var")).fill_(INF)
                torch.save(state, path)

    trainer = prepared(tiny_recipe, tmp_path, "rollback")
    trainer.bad_losses = (6,)
    trainer.register_hooks([Spoil()])
    with caplog.at_level(logging.WARNING):
        trainer.train()
    assert trainer.skipped_steps == 2
    assert "step_00000006.pt is not finite: " in caplog.text
    assert "running_var; trying the one before it" in caplog.text
    assert "hooks are back at" in caplog.text
    assert trainer.statistics.isfinite().all()


def test_embeddings_that_are_not_finite_are_a_fault_of_training(tiny_recipe, tmp_path, monkeypatch):
    trainer = prepared(tiny_recipe, tmp_path, "stop", **{"evaluate.every": 1})
    embed = type(trainer.model).embed

    def diverged(model, *images, **conditions):
        return embed(model, *images, **conditions) * float("nan")

    monkeypatch.setattr(type(trainer.model), "embed", diverged)
    with pytest.raises(DataError, match=r"embeddings of .* are not finite"):
        trainer.test()
    with pytest.raises(
        TrainingError,
        match=r"diverged by step 4 \(learning rate 0.01\): test set .* not finite.*The last good "
        r"checkpoint is \S+00003.pt. Try a lower train.optimizer.lr",
    ) as caught:
        trainer.train()
    assert caught.value.exit_code == 1


def test_large_numbers_are_finite_and_all_kinds_of_tensors_are_looked_at():
    model = torch.nn.Module()
    model.register_buffer("large", torch.full((4,), 3e38))
    model.register_buffer("short", torch.ones(3, dtype=torch.bfloat16))
    model.register_buffer("count", torch.tensor(3))
    model.register_buffer("empty", torch.empty(0))
    finite = FiniteTensors(model)
    assert bool(finite.are_buffers_finite(model))
    assert finite.bad_tensors(model.state_dict(), None) == []
    model.short[1] = float("nan")
    assert not bool(finite.are_buffers_finite(model))
    assert finite.bad_buffers(model) == ["short"]
    assert finite.bad_tensors(None, model.state_dict(), model.state_dict()) == ["short"]
    assert FiniteTensors(torch.nn.Linear(2, 2)).are_buffers_finite(torch.nn.Linear(2, 2)) is None
