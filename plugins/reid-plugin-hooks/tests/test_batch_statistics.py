from __future__ import annotations

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from reid_core.engine import Interrupted
from reid_plugin_hooks.batch_statistics import estimate_statistics


class Loader:
    """Epochs of three batches, each as its epoch and number say."""

    def __len__(self):
        return 3

    def epoch(self, epoch, start=0):
        for number in range(start, 3):
            generator = torch.Generator().manual_seed(100 * epoch + number)
            yield torch.randn(5, 4, generator=generator) * (1 + number) + epoch


class Net(nn.Module):
    """A norm, one that is used twice behind dropout, one that is never used, and a memory."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.first = nn.BatchNorm1d(4)
        self.twice = nn.BatchNorm1d(4, momentum=None)
        self.unused = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.5)
        self.register_buffer("memory", torch.zeros(4))
        self.seen = []

    def forward(self, rows):
        rows = self.linear(rows)
        self.seen.append(rows)
        hidden = self.first(rows)
        # A new tensor, not the old one changed.
        self.memory = self.memory + rows.detach().mean(dim=0)
        np.random.random()
        random.random()
        return self.twice(self.twice(self.dropout(hidden)) * 2 + 1)


def trainer_of(model, *, frozen=(), steps_done=0, interrupted_at=None):
    calls = iter(range(1000))

    def check_interrupt():
        if next(calls) == interrupted_at:
            raise Interrupted(15)

    optimizer = SimpleNamespace(frozen=list(frozen))
    return SimpleNamespace(
        model=model,
        steps_done=steps_done,
        config=SimpleNamespace(seed=7, train=SimpleNamespace(optimizer=optimizer)),
        build_train_loader=Loader,
        check_interrupt=check_interrupt,
    )


@pytest.fixture
def model():
    torch.manual_seed(0)
    net = Net()
    net(torch.randn(5, 4))  # so that no state is the initial one
    net.seen.clear()
    return net


def slow_average(batches):
    """Return the means of the batches' means and unbiased variances, number by number."""
    columns = len(batches[0][0])
    means, variances = [0.0] * columns, [0.0] * columns
    for batch in batches:
        rows = batch.double().tolist()
        for column in range(columns):
            values = [row[column] for row in rows]
            mean = sum(values) / len(values)
            means[column] += mean / len(batches)
            square = sum((value - mean) ** 2 for value in values)
            variances[column] += square / (len(values) - 1) / len(batches)
    return means, variances


@pytest.mark.parametrize("batches", [1, 2, 7])
def test_statistics_are_the_averages_over_the_batches_of_the_coming_epochs(model, batches):
    estimate_statistics(trainer_of(model, steps_done=6), model, batches=batches)
    expected = [model.linear(b).detach() for e in (2, 3, 4) for b in Loader().epoch(e)][:batches]
    assert torch.equal(torch.cat(model.seen), torch.cat(expected))
    means, variances = slow_average(expected)
    assert model.first.running_mean.tolist() == pytest.approx(means, rel=1e-5, abs=1e-6)
    assert model.first.running_var.tolist() == pytest.approx(variances, rel=1e-5)


def test_a_layer_that_is_called_twice_averages_over_its_calls(model):
    inputs = []
    model.twice.register_forward_pre_hook(lambda layer, arguments: inputs.append(arguments[0]))
    estimate_statistics(trainer_of(model), model, batches=3)
    means, variances = slow_average([rows.detach() for rows in inputs])
    assert len(inputs) == 6
    assert model.twice.running_mean.tolist() == pytest.approx(means, rel=1e-5, abs=1e-6)
    assert model.twice.running_var.tolist() == pytest.approx(variances, rel=1e-5)


def copy_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def test_nothing_but_the_statistics_of_layers_that_were_called_changes(model):
    before, memory = copy_of(model), model.memory
    model.dropout.eval()
    states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    estimate_statistics(trainer_of(model), model, batches=4)
    changed = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert changed == {
        "first.running_mean", "first.running_var", "twice.running_mean", "twice.running_var",
    }  # fmt: skip
    assert model.memory is memory
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == np.random.get_state()[1].tolist()
    assert states[2] == random.getstate()
    assert (model.first.momentum, model.twice.momentum) == (0.1, None)
    assert not model.first._forward_pre_hooks
    assert (model.training, model.dropout.training) == (True, False)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_estimate_is_the_same_whatever_the_random_state_is(model):
    estimates = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        estimate_statistics(trainer_of(model), model, batches=2)
        estimates.append(copy_of(model))
    assert all(torch.equal(value, estimates[1][name]) for name, value in estimates[0].items())


def test_a_statistic_that_was_not_finite_leaves_no_trace(model):
    model.first.running_var.fill_(math.inf)
    model.first.running_mean.fill_(math.nan)
    estimate_statistics(trainer_of(model), model, batches=2)
    assert model.first.running_mean.isfinite().all()
    assert model.first.running_var.isfinite().all()


def test_an_interrupt_leaves_the_former_statistics(model):
    before = copy_of(model)
    with pytest.raises(Interrupted):
        estimate_statistics(trainer_of(model, interrupted_at=1), model, batches=4)
    assert len(model.seen) == 2
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert model.first.momentum == 0.1


def test_frozen_statistics_stay_also_before_the_first_step_of_a_resumed_run(model):
    before = copy_of(model)
    assert model.first.training
    estimate_statistics(trainer_of(model, frozen=["first.*"]), model, batches=2)
    assert torch.equal(model.first.running_mean, before["first.running_mean"])
    assert not torch.equal(model.twice.running_mean, before["twice.running_mean"])


def test_an_average_of_the_model_has_the_modes_of_the_model(model):
    average = Net()
    average.load_state_dict(model.state_dict())
    average.eval()
    model.first.eval()
    estimate_statistics(trainer_of(model), average, batches=2)
    assert torch.equal(average.first.running_mean, model.first.running_mean)
    assert not torch.equal(average.twice.running_mean, model.twice.running_mean)
    assert not any(module.training for module in average.modules())
    assert not model.seen


def test_a_model_without_statistics_is_not_run(model):
    model.eval()
    estimate_statistics(trainer_of(model), model, batches=2)
    assert not model.seen
