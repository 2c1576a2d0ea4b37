"""Runs with a loss scaler, whose gradients overflow now and then."""

from __future__ import annotations

import json
import logging

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.hookspecs import hookimpl


class ScalingTrainer(DefaultTrainer):
    """Scales the loss as on a GPU; the gradients of some steps overflow."""

    overflows: tuple[int, ...] = ()

    def build_loss_scaler(self):
        return LossScaler(self.device, scale=1024.0)

    def build_model(self):
        model = super().build_model()
        weight = next(model.parameters())
        weight.register_hook(lambda g: g * float("inf") if self.iter in self.overflows else g)
        return model


class Watch:
    """Keeps what each step left."""

    def __init__(self):
        self.steps = []

    @hookimpl
    def after_step(self, trainer, step, result):
        weights = next(trainer.model.parameters()).detach().clone()
        self.steps.append((result.is_skipped, weights, trainer.current_lr, trainer.scaler.scale))


def trained(config, overflows=(), hooks=()):
    trainer = ScalingTrainer(config)
    trainer.overflows = overflows
    trainer.register_hooks(list(hooks))
    trainer.train()
    return trainer


def rows(trainer):
    path = trainer.folder.path / "metrics.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for row in found if "lr" in row]


def test_an_overflow_changes_neither_weights_nor_schedule(tiny_config):  # B118
    watch = Watch()
    trainer = trained(tiny_config, (2,), [watch])
    assert [step[0] for step in watch.steps] == [number == 2 for number in range(16)]
    before, skipped, after = watch.steps[1:4]
    assert torch.equal(before[1], skipped[1]), "the weights of a skipped step stay"
    assert not torch.equal(skipped[1], after[1])
    assert (before[3], skipped[3], after[3]) == (1024.0, 512.0, 512.0)
    # Warm-up over 3 steps from 0.1: the skipped step's rate is used by the next one.
    rates = [step[2] for step in watch.steps[:5]]
    assert rates == pytest.approx([0.001, 0.004, 0.007, 0.007, 0.01])
    assert (trainer.skipped_steps, trainer.steps_done) == (1, 16)


def test_a_batch_that_is_not_finite_leaves_no_trace_in_batch_statistics(tiny_config):
    class OneBadBatch(ScalingTrainer):
        def compute_gradients(self, batch):
            if self.iter == 2:
                batch = batch.with_images(batch.images * float("nan"))
            return super().compute_gradients(batch)

    trainer = OneBadBatch(tiny_config)
    trainer.train()
    assert trainer.skipped_steps == 1
    buffers = dict(trainer.model.named_buffers())
    means = [name for name in buffers if name.endswith("running_mean")]
    assert means
    assert all(bool(buffers[name].isfinite().all()) for name in means)
    counts = {int(value) for name, value in buffers.items() if name.endswith("batches_tracked")}
    assert counts == {15}, "nor is the batch counted"


def test_what_is_counted_by_updates_can_see_them(tiny_config):
    trainer = trained(tiny_config, (0, 1, 5))
    assert trainer.steps_done - trainer.skipped_steps == 13
    assert [row["skipped_steps"] for row in rows(trainer)] == [2, 2, 3, 3, 3, 3, 3, 3]


def test_the_loss_of_a_skipped_step_is_in_no_mean(tiny_config):
    class Broken(ScalingTrainer):
        def forward(self, batch):
            output = super().forward(batch)
            if self.iter in self.overflows:
                losses = {name: loss * float("nan") for name, loss in output.losses.items()}
                return type(output)(losses, output.metrics)
            return output

    trainer = Broken(tiny_config)
    trainer.overflows = (0, 1, 4)
    trainer.train()
    first, *others = rows(trainer)
    assert "loss" not in first, "a row of skipped steps alone has no loss"
    assert first["skipped_steps"] == 2
    assert all(row["loss"] == row["loss"] for row in others)


@pytest.mark.parametrize("stop", [3, 6])
def test_a_resumed_run_keeps_scale_and_count(tiny_recipe, tmp_path, stop, stop_after):
    overflows = (1, 5, 9)
    config = load_config(tiny_recipe, {"output": str(tmp_path / "whole")})
    whole = trained(config, overflows)
    config = load_config(tiny_recipe, {"output": str(tmp_path / "broken")})
    with pytest.raises(Interrupted):
        trained(config, overflows, [stop_after(stop)])
    resumed = ScalingTrainer(config)
    resumed.overflows = overflows
    resumed.resume_or_load("auto")
    assert resumed.skipped_steps == sum(step < stop for step in overflows)
    resumed.train()
    assert resumed.scaler.state_dict() == whole.scaler.state_dict()
    assert resumed.skipped_steps == whole.skipped_steps == 3
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    columns = ("step", "lr", "loss", "skipped_steps")
    ours, theirs = ([[row.get(c) for c in columns] for row in rows(t)] for t in (resumed, whole))
    assert ours == theirs


def test_a_checkpoint_without_a_scale_is_resumed(tiny_recipe, tmp_path):
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), "train.epochs": 1})
    DefaultTrainer(config).train()
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), "train.epochs": 2})
    resumed = ScalingTrainer(config)
    resumed.resume_or_load("auto", changes="use")
    assert (resumed.scaler.scale, resumed.skipped_steps) == (1024.0, 0)
    assert resumed.train().status == "completed"


def test_on_a_cpu_half_precision_is_bfloat16_with_one_warning(tiny_config, caplog):  # B116
    config = tiny_config.model_copy(
        update={"train": tiny_config.train.model_copy(update={"precision": "fp16"})}
    )
    with caplog.at_level(logging.WARNING, "reid_core"):
        trainer = DefaultTrainer(config)
        trainer.train()
        trainer.test()
    warnings = [r.getMessage() for r in caplog.records if "fp16" in r.getMessage()]
    assert len(warnings) == 1
    assert trainer.scaler is None
    assert all(row["loss"] == row["loss"] and "skipped_steps" not in row for row in rows(trainer))
    assert 0 <= trainer.results.latest()["market1501"]["mAP"] <= 1
