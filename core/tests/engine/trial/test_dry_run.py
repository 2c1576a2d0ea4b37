"""One batch of everything: what is tried, measured and compared."""

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.hooks.hook_checks import is_observer
from reid_core.engine.trial import dry_run as dry_run_module
from reid_core.engine.trial.dry_run import Estimate, dry_run
from reid_core.errors import CheckpointError


@pytest.fixture
def trainer_of(tiny_recipe, tmp_path):
    def build(**settings):
        plain = {key.replace("__", "."): value for key, value in settings.items()}
        return DefaultTrainer(load_config(tiny_recipe, {"output": str(tmp_path / "run"), **plain}))

    return build


def test_three_steps_are_done_and_the_rest_is_estimated(trainer_of, caplog):
    trainer = trainer_of(evaluate__at_start=True)
    with caplog.at_level("INFO"):
        found = dry_run(trainer)
    assert trainer.iter == 3
    assert found.left_out == ("console",)
    assert not any(is_observer(hook) for _, hook in trainer.hooks.items())
    estimate = found.estimate
    # 4 epochs of 4 steps; evaluations at the start and after epochs 2 and 4.
    assert (estimate.num_steps, estimate.from_steps, estimate.num_evaluations) == (16, 2, 3)
    assert estimate.from_images == 32, "the whole of the tiny set is less than a batch"
    assert found.peak_bytes is not None
    assert found.peak_bytes > 2**20
    assert "mAP" not in caplog.text


def test_a_run_without_evaluation_is_tried_without_one(trainer_of):
    found = dry_run(trainer_of(evaluate__every=0))
    assert [part.name for part in found.parts] == ["first step", "step", "checkpoint", "weights"]
    assert (found.estimate.num_evaluations, found.estimate.evaluation_seconds) == (0, 0.0)


def test_the_estimate_is_steps_and_evaluations():
    estimate = Estimate(
        num_steps=100,
        step_seconds=0.5,
        from_steps=2,
        num_evaluations=3,
        evaluation_seconds=10.0,
        from_images=8,
    )
    assert estimate.seconds == 80.0


def test_a_checkpoint_that_is_read_back_otherwise_is_an_error(trainer_of, monkeypatch):
    def damaged(path):
        state = load(path)
        weights = dict(state["model"])
        name = next(iter(weights))
        return {**state, "model": {**weights, name: torch.zeros_like(weights[name])}}

    load = dry_run_module.load_checkpoint
    monkeypatch.setattr(dry_run_module, "load_checkpoint", damaged)
    with pytest.raises(CheckpointError, match=r"just saved differs at 'model\.backbone"):
        dry_run(trainer_of(evaluate__every=0))
