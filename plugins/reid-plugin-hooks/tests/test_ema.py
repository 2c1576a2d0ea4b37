from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from reid_core.engine import StepResult
from reid_core.errors import ConfigError
from reid_plugin_hooks.ema import Ema

DONE = StepResult(loss=torch.zeros(()))
SKIPPED = StepResult(loss=torch.zeros(()), is_skipped=True)


def trainer_with(model):
    return SimpleNamespace(model=model, eval_model=model)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def disturb(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value += torch.randn(value.shape, generator=generator)
            else:
                value += 1


@pytest.mark.parametrize("warmup", [True, False])
def test_the_average_follows_its_formula_buffers_included(warmup):
    model = network()
    hook, trainer = Ema(decay=0.9, warmup=warmup), trainer_with(model)
    hook.before_train(trainer)
    expected = {name: value.clone() for name, value in model.state_dict().items()}
    for step in range(1, 6):
        disturb(model, step)
        hook.after_step(trainer, DONE)
        decay = min(0.9, (1 + step) / (10 + step)) if warmup else 0.9
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                expected[name] = decay * expected[name] + (1 - decay) * value
    for name, value in trainer.eval_model.state_dict().items():
        if value.is_floating_point():
            torch.testing.assert_close(value, expected[name], rtol=1e-5, atol=1e-6)
    assert trainer.eval_model[1].num_batches_tracked == 5, "a counter is no average"


def test_a_second_part_of_the_run_goes_on_with_the_average():
    model = network()
    hook, trainer = Ema(decay=0.9), trainer_with(model)
    hook.before_train(trainer)
    disturb(model, 1)
    hook.after_step(trainer, DONE)
    average = trainer.eval_model
    before = {name: value.clone() for name, value in average.state_dict().items()}
    hook.before_train(trainer)
    assert trainer.eval_model is average
    assert all(torch.equal(v, before[k]) for k, v in average.state_dict().items())


def test_the_plain_weights_stay_as_they_are():
    model = network()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    hook, trainer = Ema(), trainer_with(model)
    hook.before_train(trainer)
    hook.after_step(trainer, DONE)
    assert trainer.eval_model is not model
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_resumed_average_goes_on_bitwise():
    model = network()
    hook, trainer = Ema(decay=0.99), trainer_with(model)
    hook.before_train(trainer)
    for step in range(3):
        disturb(model, step)
        hook.after_step(trainer, DONE)
    saved = {
        "average": {k: v.clone() for k, v in hook.state_dict()["average"].items()},
        "updates": hook.state_dict()["updates"],
    }
    resumed, other = Ema(decay=0.99), trainer_with(model)
    resumed.load_state_dict(saved)
    assert resumed.state_dict() is saved, "a checkpoint before the first step loses nothing"
    resumed.before_train(other)
    disturb(model, 9)
    hook.after_step(trainer, DONE)
    resumed.after_step(other, DONE)
    for name, value in trainer.eval_model.state_dict().items():
        assert torch.equal(value, other.eval_model.state_dict()[name]), name


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.1, 2.0])
def test_a_decay_outside_its_range_is_refused(decay):
    with pytest.raises(ConfigError, match="decay is"):
        Ema(decay=decay)


def test_a_step_that_was_skipped_does_not_count():  # B118
    model = network()
    hook, trainer = Ema(decay=0.9), trainer_with(model)
    hook.before_train(trainer)
    disturb(model, 1)
    hook.after_step(trainer, DONE)
    before = {name: value.clone() for name, value in trainer.eval_model.state_dict().items()}
    hook.after_step(trainer, SKIPPED)
    assert hook.state_dict()["updates"] == 1
    for name, value in trainer.eval_model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_state_is_taken_back_in_a_run_that_goes_on():
    model = network()
    hook, trainer = Ema(decay=0.9), trainer_with(model)
    hook.before_train(trainer)
    disturb(model, 1)
    hook.after_step(trainer, DONE)
    state = hook.state_dict()
    kept = {name: value.clone() for name, value in state["average"].items()}
    disturb(model, 2)
    hook.after_step(trainer, DONE)
    hook.load_state_dict({"average": kept, "updates": 1})
    assert hook.state_dict()["updates"] == 1
    for name, value in trainer.eval_model.state_dict().items():
        assert torch.equal(value, kept[name]), name
