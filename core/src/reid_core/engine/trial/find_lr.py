"""A learning-rate range test: the loss while the rate grows from step to step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from reid_core.checkpoint.random_state import random_state, set_random_state
from reid_core.contracts import Batch
from reid_core.errors import TrainingError, UsageError

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

#: Weight of the losses so far in the smoothed loss.
SMOOTHING = 0.9
#: The test ends where the smoothed loss is so many times its lowest value.
TOO_HIGH = 4.0
#: Steps to each side that a slope is taken over: single losses are noisy.
_REACH = 8


@dataclass(frozen=True)
class LrPoint:
    """One step.

    Args:
        rate: Its learning rate, before the factors of parameter groups.
        loss: The loss of its batch, before the update.
        smoothed: The mean of the losses so far, the newer ones weighing more.
    """

    rate: float
    loss: float
    smoothed: float


@dataclass(frozen=True)
class LrRange:
    """What a range test found.

    Args:
        points: The steps whose loss was finite.
        end: Whether all rates were tried, or the loss grew too high or was not finite before.
    """

    points: tuple[LrPoint, ...]
    end: Literal["complete", "too_high", "not_finite"]

    @property
    def lowest(self) -> LrPoint:
        """The step with the lowest smoothed loss."""
        return min(self.points, key=lambda point: point.smoothed)

    @property
    def suggestion(self) -> float:
        """A tenth of the rate of the lowest smoothed loss.

        It is the steadier of the two usual rules: with four seeds on the synthetic set the tenth
        was between 8.5e-4 and 1.2e-3, the rate of the steepest fall between 1e-4 and 2e-3.
        """
        return self.lowest.rate / 10

    @property
    def steepest(self) -> LrPoint | None:
        """The step around which the loss falls fastest over the logarithm of the rate.

        The slope is that of a line through the losses of 17 steps, none of them behind the lowest
        smoothed loss. None where it falls nowhere.
        """
        falling = self.points[: self.points.index(self.lowest) + 1]
        slopes = [
            _slope(falling[middle - _REACH : middle + _REACH + 1])
            for middle in range(_REACH, len(falling) - _REACH)
        ]
        if not slopes or min(slopes) >= 0:
            return None
        return falling[_REACH + int(np.argmin(slopes))]


def find_lr(
    trainer: DefaultTrainer, *, low: float = 1e-7, high: float = 10.0, steps: int = 100
) -> LrRange:
    """Train for some steps while the rate grows exponentially; leave all as it was.

    Warm-up and schedule are off, and hooks do not act. Groups keep their factors; those that no
    schedule moves keep their rate. Batches are those of a run, of as many epochs as the steps need.

    Args:
        trainer: Before its first step, or after a resume. Model, optimizer and random states are
            given back at the end.
        low: The first rate, above 0.
        high: The last rate, above ``low``.
        steps: Steps from one to the other, at least 2.

    Raises:
        UsageError: A number is out of its range.
        TrainingError: The loss of the first batch is not finite.

    Source: Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017, section 3.3.
    """
    if not 0 < low < high < math.inf or steps < 2:
        raise UsageError(
            f"learning rates from {low:g} to {high:g} in {steps} steps; expected rates above 0, "
            "the second one higher, and at least 2 steps"
        )
    with _given_back(trainer):
        found = _range(trainer, [low * (high / low) ** (i / (steps - 1)) for i in range(steps)])
    if not found.points:
        raise TrainingError(
            f"the loss of the first batch is not finite, at a learning rate of {low:g}: no rate "
            "is to blame; look at the data (reid-data check) and at train.precision"
        )
    return found


def _range(trainer: DefaultTrainer, rates: Sequence[float]) -> LrRange:
    points: list[LrPoint] = []
    average = 0.0
    for number, (rate, batch) in enumerate(zip(rates, _batches(trainer), strict=False), start=1):
        trainer.check_interrupt()
        _set_rate(trainer, rate)
        loss = _step(trainer, batch)
        if not math.isfinite(loss):
            return LrRange(tuple(points), "not_finite")
        average = SMOOTHING * average + (1 - SMOOTHING) * loss
        # Without the division the first values would be drawn towards 0.
        points.append(LrPoint(rate, loss, average / (1 - SMOOTHING**number)))
        best = min(point.smoothed for point in points)
        # The distance and not the quotient: a loss may be negative.
        if points[-1].smoothed - best > (TOO_HIGH - 1) * abs(best):
            return LrRange(tuple(points), "too_high")
    return LrRange(tuple(points), "complete")


def _batches(trainer: DefaultTrainer) -> Iterator[Batch]:
    for epoch in count():
        yield from trainer.batches(epoch, 0)


def _set_rate(trainer: DefaultTrainer, rate: float) -> None:
    for group in trainer.optimizer.param_groups:
        if group.get("is_scheduled", True):
            group["lr"] = rate * group["initial_lr"] / trainer.config.train.optimizer.lr


def _step(trainer: DefaultTrainer, batch: Batch) -> float:
    """Do one step; return the loss, the mean over all processes."""
    trainer.optimizer.zero_grad(set_to_none=True)
    output = trainer.compute_gradients(batch)
    mine = float(torch.stack(list(output.losses.values())).sum().detach())
    losses = trainer.processes.gather([mine])
    loss = sum(losses) / len(losses)
    if trainer.clip is not None and math.isfinite(loss):
        trainer.clip.clip()
    if trainer.scaler is not None:
        # It skips an update that is not finite, and has to hear of every backward pass.
        trainer.scaler.step(trainer.optimizer)
    elif math.isfinite(loss):
        trainer.optimizer.step()
    return loss


@contextmanager
def _given_back(trainer: DefaultTrainer) -> Iterator[None]:
    """Give model, optimizer, scaler and random states back as they were."""
    # On the host: a GPU may have no room for a second model.
    model = {name: _on_host(value) for name, value in trainer.model.state_dict().items()}
    optimizer = {key: _on_host(one) for key, one in trainer.optimizer.state_dict().items()}
    scaler = None if trainer.scaler is None else trainer.scaler.state_dict()
    random = random_state()
    try:
        yield
    finally:
        trainer.optimizer.zero_grad(set_to_none=True)
        trainer.model.load_state_dict(model)
        trainer.optimizer.load_state_dict(optimizer)
        if trainer.scaler is not None and scaler is not None:
            trainer.scaler.load_state_dict(scaler)
        set_random_state(random)


def _on_host(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: _on_host(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_on_host(one) for one in value]
    return value


def _slope(points: Sequence[LrPoint]) -> float:
    logs = np.log10([point.rate for point in points])
    losses = np.array([point.loss for point in points])
    logs -= logs.mean()
    return float((logs * losses).sum() / (logs * logs).sum())
