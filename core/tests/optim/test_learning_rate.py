from __future__ import annotations

from itertools import pairwise

import pytest

from reid_core.config.components import OptimizerConfig, ScheduleConfig
from reid_core.errors import ConfigError
from reid_core.optim import LearningRate

LR = 3.5e-4


def rates(schedule, steps, *, epochs=120, iters_per_epoch=10):
    config = ScheduleConfig.model_validate(schedule)
    rate = LearningRate.from_config(
        config, OptimizerConfig(lr=LR), epochs=epochs, iters_per_epoch=iters_per_epoch
    )
    return [LR * rate.factor(step) for step in steps]


def test_linear_warm_up_has_the_published_values():
    got = rates({"name": "constant", "warmup": {"steps": 10, "factor": 0.1}}, range(11))
    expected = [3.5e-5, 6.65e-5, 9.8e-5, 1.295e-4, 1.61e-4, 1.925e-4, 2.24e-4, 2.555e-4]
    expected += [2.87e-4, 3.185e-4, 3.5e-4]
    assert got == pytest.approx(expected, rel=1e-6)


def test_milestones_drop_at_the_beginning_of_their_epoch():
    epochs = [39, 40, 69, 70]
    got = rates({"name": "multistep", "milestones": [40, 70]}, [10 * e for e in epochs])
    assert got == pytest.approx([3.5e-4, 3.5e-5, 3.5e-5, 3.5e-6], rel=1e-6)
    last_step_before = rates({"name": "multistep", "milestones": [40, 70]}, [399])
    assert last_step_before == pytest.approx([3.5e-4])


def test_milestones_are_not_delayed_by_a_warm_up():
    schedule = {"name": "multistep", "milestones": [40], "warmup": {"epochs": 10, "factor": 0.01}}
    assert rates(schedule, [399, 400]) == pytest.approx([3.5e-4, 3.5e-5], rel=1e-6)


def test_cosine_has_the_published_values():
    schedule = {"name": "cosine", "min_lr": 7.7e-7}
    got = rates(schedule, [10 * e for e in (0, 25, 50, 75, 100)], epochs=100)
    expected = [3.5e-4, 2.988565e-4, 1.753850e-4, 5.191355e-5, 7.7e-7]
    assert got == pytest.approx(expected, rel=1e-6)


def test_the_rate_at_the_end_of_the_warm_up_is_the_base_rate():
    for name in ("constant", "cosine"):
        schedule = {"name": name, "warmup": {"epochs": 5, "factor": 1e-6 / LR}}
        got = rates(schedule, [0, 10, 50])
        assert got[0] == pytest.approx(1e-6)
        assert got[1] > got[0]
        assert got[2] == pytest.approx(LR)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"name": "multistep", "milestones": [70, 40]}, "they must rise"),
        ({"name": "multistep", "milestones": [1], "gamma": 0}, "expected more than 0"),
        ({"name": "cosine", "min_lr": 1.0}, "expected 0 to the learning rate"),
        ({"name": "constant", "warmup": {"epochs": 200}}, "lasts 2000 steps, the whole run only"),
    ],
)
def test_wrong_schedules_are_refused(schedule, message):
    with pytest.raises(ConfigError, match=message):
        rates(schedule, [0])


def test_published_values_hold_by_epochs_too():  # B086
    epochs = [39, 40, 69, 70]
    multistep = {"name": "multistep", "milestones": [40, 70], "granularity": "epoch"}
    got = rates(multistep, [10 * e + 9 for e in epochs])
    assert got == pytest.approx([3.5e-4, 3.5e-5, 3.5e-5, 3.5e-6], rel=1e-6)
    cosine = {"name": "cosine", "min_lr": 7.7e-7, "granularity": "epoch"}
    got = rates(cosine, [10 * e + 9 for e in (25, 50, 75)], epochs=100)
    assert got == pytest.approx([2.988565e-4, 1.753850e-4, 5.191355e-5], rel=1e-6)


@pytest.mark.parametrize("granularity", ["step", "epoch"])
@pytest.mark.parametrize("method", ["linear", "exponential"])
def test_a_warm_up_by_epochs_rises_and_ends_at_the_base_rate(granularity, method):  # B087
    warmup = {"epochs": 5, "factor": 1e-6 / LR, "method": method}
    got = rates(
        {"name": "constant", "warmup": warmup, "granularity": granularity},
        [10 * epoch for epoch in range(7)],
    )
    assert got[0] == pytest.approx(1e-6)
    assert all(a < b for a, b in pairwise(got[:6]))
    assert got[5:] == pytest.approx([LR, LR])


def test_a_warm_up_in_steps_goes_by_steps_whatever_the_schedule_goes_by():
    schedule = {
        "name": "multistep",
        "milestones": [2],
        "granularity": "epoch",
        "warmup": {"steps": 15, "factor": 0.1},
    }
    got = rates(schedule, range(14, 21))
    assert got[0] == pytest.approx(LR * (0.1 + 0.9 * 14 / 15))
    assert got[1:] == pytest.approx([LR] * 5 + [0.1 * LR])


def test_skipped_steps_delay_what_goes_by_steps_and_not_what_goes_by_epochs():
    def rate(**schedule):
        config = ScheduleConfig.model_validate({"name": "cosine", **schedule})
        return LearningRate.from_config(
            config, OptimizerConfig(lr=LR), epochs=10, iters_per_epoch=10
        )

    by_step = rate(warmup={"steps": 5, "factor": 0.1})
    for step in (2, 4, 30):
        assert by_step.factor(step + 3, skipped_steps=3) == by_step.factor(step)
    by_epoch = rate(granularity="epoch", warmup={"steps": 5, "factor": 0.1})
    assert by_epoch.factor(30, skipped_steps=3) == by_epoch.factor(30)
    assert by_epoch.factor(6, skipped_steps=3) == by_epoch.factor(3)
