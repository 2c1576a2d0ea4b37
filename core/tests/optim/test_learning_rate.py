from __future__ import annotations

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
