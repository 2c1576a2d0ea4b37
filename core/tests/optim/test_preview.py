from __future__ import annotations

import pytest

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.errors import ConfigError
from reid_core.optim.preview import RatePreview, preview_rates, steps_of_data


def test_the_rates_are_those_that_the_run_trains_with(tiny_config):
    trainer = DefaultTrainer(tiny_config)
    steps = steps_of_data(tiny_config)
    assert steps == len(trainer.data_loader)
    rates = preview_rates(tiny_config, iters_per_epoch=steps).rates
    lr = tiny_config.train.optimizer.lr
    assert rates == tuple(lr * trainer.learning_rate.factor(s) for s in range(trainer.max_iter))


def test_few_changes_have_a_row_each():
    rates = (1.0,) * 10 + (0.1,) * 10
    points = RatePreview(rates, 5).points()
    assert [(p.step, p.epoch, p.lr) for p in points] == [
        (0, 0.0, 1.0), (10, 2.0, 0.1), (19, 3.8, 0.1),
    ]  # fmt: skip


def test_many_changes_are_seen_at_regular_distances_with_the_jumps_between_them():
    smooth = [1 - step / 2000 for step in range(1000)]
    rates = [rate * (0.1 if step >= 333 else 1.0) for step, rate in enumerate(smooth)]
    steps = [p.step for p in RatePreview(tuple(rates), 10).points()]
    assert steps == sorted({*range(0, 1000, 50), 333, 999})


def test_a_smooth_fall_to_zero_has_no_jumps():
    rates = tuple((1 - step / 999) ** 2 for step in range(1000))
    steps = [p.step for p in RatePreview(rates, 10).points()]
    assert steps == [*range(0, 1000, 50), 999]


def test_the_distance_of_the_rows_can_be_given():
    rates = (1.0,) * 20
    assert [p.step for p in RatePreview(rates, 5).points(every_epochs=2)] == [0, 10, 19]


def test_a_warm_up_longer_than_the_run_is_refused(tiny_recipe):
    config = load_config(tiny_recipe, {"train.schedule.warmup.steps": 17})
    with pytest.raises(ConfigError, match="lasts 17 steps, the whole run only 16"):
        preview_rates(config, iters_per_epoch=4)
