"""The rates that other toolboxes train with, each against a plain loop over their rules."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from reid_core.config.components import OptimizerConfig, ScheduleConfig
from reid_core.errors import ConfigError
from reid_core.optim import LearningRate

LR = 3.5e-4


def learning_rate(schedule, *, epochs, iters_per_epoch, lr=LR):
    config = ScheduleConfig.model_validate(schedule)
    return LearningRate.from_config(
        config, OptimizerConfig(lr=lr), epochs=epochs, iters_per_epoch=iters_per_epoch
    )


def by_epoch(rate, epochs, iters_per_epoch, lr=LR):
    """The rate of the last step of each epoch."""
    return [lr * rate.factor((epoch + 1) * iters_per_epoch - 1) for epoch in range(epochs)]


FASTREID = {"granularity": "epoch", "counting": "fastreid"}
BOT = {"name": "multistep", "milestones": [40, 90], "warmup": {"steps": 2000, "factor": 0.1}}
SBS = {"name": "cosine", "min_lr": 7e-7, "warmup": {"steps": 2000, "factor": 0.1}}


def test_bag_of_tricks_on_market_decays_at_epochs_49_and_99_as_fastreid_does():
    rate = learning_rate({**BOT, **FASTREID}, epochs=120, iters_per_epoch=202)
    rates = by_epoch(rate, 120, 202)
    drops = [e for e in range(1, 120) if rates[e] < 0.5 * rates[e - 1]]
    assert drops == [49, 99]
    assert rates[48:50] == pytest.approx([3.5e-4, 3.5e-5])


def test_without_fastreids_counting_it_decays_where_the_milestones_say():
    rates = by_epoch(learning_rate(BOT, epochs=120, iters_per_epoch=202), 120, 202)
    assert [e for e in range(1, 120) if rates[e] < 0.5 * rates[e - 1]] == [40, 90]


def test_sbs_is_flat_until_epoch_31_and_ends_at_its_published_rate():
    schedule = {**SBS, **FASTREID, "delay_epochs": 30}
    rates = by_epoch(learning_rate(schedule, epochs=60, iters_per_epoch=202), 60, 202)
    assert rates[10:31] == pytest.approx([LR] * 21, rel=1e-9)
    assert rates[31] < LR
    assert rates[59] == pytest.approx(1.66e-6, rel=3e-3)


def fastreid_rates(make, *, epochs, iters_per_epoch, warmup, factor, delay):
    """The two schedulers of FastReID on one optimizer, stepped by the rules of its hook."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=LR)
    t_max = epochs - max(math.ceil(warmup / iters_per_epoch), delay)
    scheduler = make(optimizer, t_max)
    group = optimizer.param_groups[0]

    def warm(count):
        alpha = count / warmup if warmup else 1.0
        return LR * (1.0 if count >= warmup else factor * (1 - alpha) + alpha)

    group["lr"] = warm(0)
    rates, done = [], 0
    for epoch in range(epochs):
        for _ in range(iters_per_epoch):
            rates.append(group["lr"])
            optimizer.step()
            if done + 1 <= warmup:
                group["lr"] = warm(done + 1)
            done += 1
        if done + 1 > warmup and epoch + 1 > delay:
            scheduler.step()
    return rates


@pytest.mark.parametrize("iters_per_epoch", [1, 3, 7])
@pytest.mark.parametrize("warmup", [0, 1, 6, 14, 20])
@pytest.mark.parametrize("delay", [0, 1, 9])
@pytest.mark.parametrize("name", ["multistep", "cosine"])
def test_any_warm_up_and_delay_gives_fastreids_rates(name, delay, warmup, iters_per_epoch):
    epochs = 30
    schedule = {
        "multistep": {"name": "multistep", "milestones": [2, 6, 11], "gamma": 0.4},
        "cosine": {"name": "cosine", "min_lr": 1e-5},
    }[name]
    make = {
        "multistep": lambda o, _: lr_scheduler.MultiStepLR(o, [2, 6, 11], gamma=0.4),
        "cosine": lambda o, t_max: lr_scheduler.CosineAnnealingLR(o, t_max, eta_min=1e-5),
    }[name]
    expected = fastreid_rates(
        make,
        epochs=epochs,
        iters_per_epoch=iters_per_epoch,
        warmup=warmup,
        factor=0.1,
        delay=delay,
    )
    rate = learning_rate(
        {
            **schedule,
            **FASTREID,
            "delay_epochs": delay,
            "warmup": {"steps": warmup, "factor": 0.1},
        },
        epochs=epochs,
        iters_per_epoch=iters_per_epoch,
    )
    got = [LR * rate.factor(step) for step in range(epochs * iters_per_epoch)]
    assert got == pytest.approx(expected, rel=1e-6)


def test_a_delay_that_leaves_nothing_is_refused():
    with pytest.raises(ConfigError, match="take 30 of 30 epochs, so nothing is left"):
        learning_rate({**SBS, **FASTREID, "delay_epochs": 30}, epochs=30, iters_per_epoch=202)


TRANSREID = {
    "name": "cosine",
    "min_lr": 0.002 * 0.008,
    "granularity": "epoch",
    "counting": "through_warmup",
    "first_epoch": 1,
    "warmup": {"epochs": 5, "factor": 0.01},
}


def test_transreids_cosine_counts_the_epochs_of_the_warm_up():
    lr, epochs = 0.008, 120
    rate = learning_rate(TRANSREID, epochs=epochs, iters_per_epoch=3, lr=lr)
    expected = []
    for number in range(1, epochs + 1):
        if number < 5:
            expected.append(0.01 * lr + number * (lr - 0.01 * lr) / 5)
        else:
            share = 0.5 * (1 + math.cos(math.pi * number / epochs))
            expected.append(0.002 * lr + (lr - 0.002 * lr) * share)
    assert by_epoch(rate, epochs, 3, lr) == pytest.approx(expected, rel=1e-9)
    first_steps = [lr * rate.factor(3 * epoch) for epoch in range(epochs)]
    assert first_steps == pytest.approx(expected, rel=1e-9)


def test_bag_of_tricks_of_its_authors_warms_up_by_epochs_counted_from_1():
    schedule = {
        "name": "multistep",
        "milestones": [40, 70],
        "granularity": "epoch",
        "first_epoch": 1,
        "warmup": {"epochs": 10, "factor": 0.01},
    }
    rates = by_epoch(learning_rate(schedule, epochs=120, iters_per_epoch=4), 120, 4)
    assert rates[:3] == pytest.approx([LR * (0.01 + 0.99 * n / 10) for n in (1, 2, 3)])
    # Its epoch 40 is the 40th.
    assert rates[38:40] == pytest.approx([LR, 0.1 * LR])


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"counting": "fastreid"}, "add granularity: epoch"),
        ({"delay_epochs": 3}, "belongs to counting: fastreid"),
        ({"first_epoch": 1}, "belongs to granularity: epoch"),
        ({"counting": "from_end"}, "'from_start', 'through_warmup' or 'fastreid'"),
        ({"warmup": {"steps": 3, "method": "cubic"}}, "'constant', 'linear' or 'exponential'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(schedule, message):
    with pytest.raises(ValueError, match=message):
        ScheduleConfig.model_validate({"name": "cosine", **schedule})
