"""The range test: its losses are those of a plain loop, and it leaves everything as it was."""

import math

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.reproducing.compare_states import find_difference
from reid_core.engine.trial.find_lr import LrPoint, LrRange, find_lr
from reid_core.errors import TrainingError, UsageError


@pytest.fixture
def trainer_of(tiny_recipe, tmp_path):
    def build(**settings):
        plain = {key.replace("__", "."): value for key, value in settings.items()}
        config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), **plain})
        return DefaultTrainer(config)

    return build


def curve(losses, *, end="complete"):
    """The points of a test over 8 decades whose smoothed losses are the losses."""
    gap = 8 / (len(losses) - 1)
    return LrRange(
        tuple(LrPoint(10 ** (-7 + gap * i), loss, loss) for i, loss in enumerate(losses)), end
    )


def test_the_losses_are_those_of_a_plain_loop_with_these_rates(trainer_of):
    found = find_lr(trainer_of(), low=1e-4, high=1e-2, steps=7)
    trainer = trainer_of()
    optimizer = torch.optim.Adam(
        [{"params": group["params"]} for group in trainer.optimizer.param_groups],
        weight_decay=trainer.config.train.optimizer.weight_decay,
    )
    batches = [*trainer.data_loader.epoch(0), *trainer.data_loader.epoch(1)]
    average = 0.0
    for number, (point, batch) in enumerate(zip(found.points, batches, strict=False), start=1):
        rate = 1e-4 * 100 ** ((number - 1) / 6)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = sum(trainer.model(batch).losses.values())
        loss.backward()
        optimizer.step()
        average = 0.9 * average + 0.1 * loss.item()
        assert point.rate == pytest.approx(rate)
        assert point.loss == pytest.approx(loss.item(), abs=1e-6)
        assert point.smoothed == pytest.approx(average / (1 - 0.9**number), abs=1e-6)
    assert (len(found.points), found.end) == (7, "complete")


def test_all_is_as_it_was_afterwards_and_a_run_is_the_same(trainer_of, tmp_path):
    trainer = trainer_of(train__precision="fp16", model__backbone__dropout=0.5)
    before = trainer.state_dict()
    before = {name: torch.utils._pytree.tree_map(_copy, value) for name, value in before.items()}
    find_lr(trainer, steps=9)
    assert find_difference(before, trainer.state_dict()) is None
    assert not (tmp_path / "run").exists()
    assert all(parameter.grad is None for parameter in trainer.model.parameters())


def _copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def test_groups_keep_their_factors_and_what_is_not_scheduled_its_rate(trainer_of):
    trainer = trainer_of(train__optimizer__bias_lr_factor=2.0)
    trainer.optimizer.param_groups[0]["is_scheduled"] = False
    kept = trainer.optimizer.param_groups[0]["lr"]
    seen = []
    trainer.optimizer.register_step_pre_hook(
        lambda optimizer, *_: seen.append([group["lr"] for group in optimizer.param_groups])
    )
    find_lr(trainer, low=1e-3, high=4e-3, steps=3)
    base = trainer.config.train.optimizer.lr
    factors = [group["initial_lr"] / base for group in trainer.optimizer.param_groups]
    assert sorted(factors) == [1.0, 2.0]
    for rates, rate in zip(seen, (1e-3, 2e-3, 4e-3), strict=True):
        assert rates == pytest.approx([kept, rate * factors[1]])


def test_a_loss_that_is_not_finite_ends_it_early(trainer_of, monkeypatch):
    trainer = trainer_of()
    forward, calls = trainer.forward, []

    def fails_later(batch):
        calls.append(batch)
        output = forward(batch)
        factor = math.nan if len(calls) > 5 else 1.0
        return type(output)({name: loss * factor for name, loss in output.losses.items()})

    monkeypatch.setattr(trainer, "forward", fails_later)
    found = find_lr(trainer)
    assert (found.end, len(found.points), len(calls)) == ("not_finite", 5, 6)
    calls += [None] * 9
    with pytest.raises(TrainingError, match="the loss of the first batch is not finite"):
        find_lr(trainer)


def test_it_ends_where_the_smoothed_loss_is_four_times_its_lowest(trainer_of):
    found = find_lr(trainer_of(), low=1e-2, high=1e6, steps=30)
    assert found.end == "too_high"
    *before, last = found.points
    lowest = min(point.smoothed for point in found.points)
    assert last.smoothed > 4 * lowest
    assert all(point.smoothed <= 4 * lowest for point in before)


def test_the_steepest_point_is_where_the_loss_falls_fastest():
    # Flat, then a fall whose middle is step 50, then a rise.
    losses = [3 - 2 / (1 + math.exp(-(i - 50) / 4)) for i in range(80)]
    found = curve([*losses, *(1.5 + 0.1 * i for i in range(20))])
    assert found.steepest is not None
    assert found.steepest.rate == pytest.approx(found.points[50].rate)
    assert found.lowest is found.points[79]
    assert found.suggestion == pytest.approx(found.points[79].rate / 10)


@pytest.mark.parametrize("losses", [[1.0 + 0.1 * i for i in range(100)], [1.0] * 100, [3, 2, 1]])
def test_without_a_fall_there_is_no_steepest_point(losses):
    assert curve(losses).steepest is None


@pytest.mark.parametrize("wrong", [{"low": 0.0}, {"low": 1.0, "high": 0.1}, {"steps": 1}])
def test_a_range_that_is_none_is_refused(trainer_of, wrong):
    with pytest.raises(UsageError, match="expected rates above 0, the second one higher"):
        find_lr(trainer_of(), **wrong)
