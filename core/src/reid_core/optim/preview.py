"""The learning rate of a whole run, before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from reid_core.config import Config
from reid_core.data.cameras import camera_codes
from reid_core.data.columns import shared_columns
from reid_core.data.labels import LabelMap
from reid_core.data.sources import Sources
from reid_core.data.train_data import build_sampler
from reid_core.optim.learning_rate import LearningRate

#: Up to this many changes each has a row; more are seen at regular distances.
MAX_ROWS = 40
#: About this many rows at regular distances.
_REGULAR_ROWS = 20
#: A rate that moves by more than this share from one step to the next jumps.
_JUMP = 0.25


@dataclass(frozen=True)
class RatePoint:
    """The learning rate from one step on.

    Args:
        step: The step, from 0.
        epoch: The epochs gone by before it.
        lr: The rate, before the factors of parameter groups.
    """

    step: int
    epoch: float
    lr: float


@dataclass(frozen=True)
class RatePreview:
    """The learning rate of every step.

    Args:
        rates: (steps,) the rates in order.
        iters_per_epoch: Steps an epoch.
    """

    rates: tuple[float, ...]
    iters_per_epoch: int

    def point(self, step: int) -> RatePoint:
        """Return the rate of a step."""
        return RatePoint(step, step / self.iters_per_epoch, self.rates[step])

    def points(self, *, every_epochs: int | None = None) -> list[RatePoint]:
        """Return the points that tell how the rate goes, in order.

        Args:
            every_epochs: Distance of the points; None takes every change where they are few, and
                some 20 points with every jump between them otherwise.
        """
        last = len(self.rates) - 1
        changes = [i + 1 for i, (a, b) in enumerate(pairwise(self.rates)) if a != b]
        if every_epochs is None and len(changes) <= MAX_ROWS:
            steps = {0, *changes, last}
        else:
            epochs = math.ceil(len(self.rates) / self.iters_per_epoch)
            distance = every_epochs or math.ceil(epochs / _REGULAR_ROWS)
            regular = range(0, last + 1, distance * self.iters_per_epoch)
            jumps = [step for step in changes if self._is_jump(step)]
            steps = {*regular, *(jumps if len(jumps) <= MAX_ROWS else ()), last}
        return [self.point(step) for step in sorted(steps)]

    def _is_jump(self, step: int) -> bool:
        """Say whether the rate moves far at a step, and not as far before and after it."""
        around = max(self._change(step - 1), self._change(step + 1))
        largest = max(self.rates[step - 1], self.rates[step])
        return self._change(step) > max(_JUMP * largest, 4 * around)

    def _change(self, step: int) -> float:
        if not 0 < step < len(self.rates):
            return 0.0
        return abs(self.rates[step] - self.rates[step - 1])


def preview_rates(config: Config, *, iters_per_epoch: int) -> RatePreview:
    """Compute the learning rate of every step of a run.

    Args:
        config: The whole configuration.
        iters_per_epoch: Steps an epoch, at least 1.

    Raises:
        ConfigError: The schedule does not fit the run.
    """
    train = config.train
    rate = LearningRate.from_config(
        train.schedule, train.optimizer, epochs=train.epochs, iters_per_epoch=iters_per_epoch
    )
    steps = range(train.epochs * iters_per_epoch)
    rates = tuple(train.optimizer.lr * rate.factor(step) for step in steps)
    return RatePreview(rates, iters_per_epoch)


def steps_of_data(config: Config) -> int:
    """Return how many steps an epoch has with the training sets of a configuration.

    Reads their lists and no image.

    Raises:
        ConfigError: An epoch would have no batch.
        DataError: A set is not there, or cannot serve the sampler.
    """
    manifests = Sources(train=config.data.train, test=[]).train_manifests()
    labels = LabelMap.of(manifests).labels(manifests)
    sizes = {manifest.name: len(manifest) for manifest in manifests}
    sampler = build_sampler(
        config,
        labels,
        camera_codes(manifests),
        columns=shared_columns(manifests),
        sizes=sizes,
    )
    return len(sampler)
