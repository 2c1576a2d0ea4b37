"""Each schedule that torch has too gives torch's rates, step by step."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from reid_core.config.components import OptimizerConfig, ScheduleConfig
from reid_core.optim import LearningRate

LR = 0.02
EPOCHS, STEPS = 6, 5
TOTAL = EPOCHS * STEPS


def torch_rates(make, count):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=LR)
    scheduler = make(optimizer)
    rates = []
    for _ in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def our_rates(schedule, *, granularity="step"):
    config = ScheduleConfig.model_validate({**schedule, "granularity": granularity})
    rate = LearningRate.from_config(
        config, OptimizerConfig(lr=LR), epochs=EPOCHS, iters_per_epoch=STEPS
    )
    return [LR * rate.factor(step) for step in range(TOTAL)]


CASES = [
    (
        {"name": "multistep", "milestones": [2, 4], "gamma": 0.3},
        lambda o, n: lr_scheduler.MultiStepLR(o, [n * 2, n * 4], gamma=0.3),
    ),
    (
        {"name": "cosine", "min_lr": 0.001},
        lambda o, n: lr_scheduler.CosineAnnealingLR(o, n * EPOCHS, eta_min=0.001),
    ),
    (
        {"name": "polynomial", "power": 0.9},
        lambda o, n: lr_scheduler.PolynomialLR(o, n * EPOCHS, power=0.9),
    ),
    (
        {"name": "exponential", "gamma": 0.5},
        lambda o, n: lr_scheduler.ExponentialLR(o, 0.5 ** (1 / n)),
    ),
    (
        {"name": "one_cycle", "rise": 0.4, "div_factor": 10.0, "final_div_factor": 100.0},
        lambda o, n: lr_scheduler.OneCycleLR(
            o, LR, n * EPOCHS, pct_start=0.4, div_factor=10, final_div_factor=100
        ),
    ),
    (
        {"name": "one_cycle", "rise": 0.5, "shape": "linear"},
        lambda o, n: lr_scheduler.OneCycleLR(
            o, LR, n * EPOCHS, pct_start=0.5, anneal_strategy="linear"
        ),
    ),
]


# OneCycleLR refuses a call after its last value, so the last one is not asked for there.
@pytest.mark.parametrize(("schedule", "make"), CASES)
def test_the_rate_of_each_step_is_torchs(schedule, make):
    expected = torch_rates(lambda optimizer: make(optimizer, STEPS), TOTAL - 1)
    assert our_rates(schedule)[:-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("schedule", "make"), CASES)
def test_by_epochs_the_rate_is_that_of_torchs_scheduler_stepped_once_an_epoch(schedule, make):
    expected = torch_rates(lambda optimizer: make(optimizer, 1), EPOCHS - 1)
    ours = our_rates(schedule, granularity="epoch")
    assert ours[: TOTAL - STEPS : STEPS] == pytest.approx(expected, rel=1e-6)
    assert all(rate == ours[step // STEPS * STEPS] for step, rate in enumerate(ours))


def test_one_cycle_ends_at_its_lowest_rate_in_the_last_step():
    ours = our_rates({"name": "one_cycle", "div_factor": 20.0, "final_div_factor": 50.0})
    assert ours[0] == pytest.approx(LR / 20)
    assert ours[-1] == pytest.approx(LR / 1000)
    assert max(ours) == pytest.approx(LR)
