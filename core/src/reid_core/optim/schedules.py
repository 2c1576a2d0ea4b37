"""Schedules: the factor on the base learning rate, as a function of epochs gone by.

A schedule has no state: the learning rate of a step depends on the step alone, so a resumed run
needs nothing restored. It is built with ``total_epochs``, ``warmup_epochs`` and ``base_lr`` where
its signature names them.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Protocol

from reid_core.errors import ConfigError


class Schedule(Protocol):
    """What every schedule promises."""

    def factor(self, epoch: float) -> float:
        """Return the factor at ``epoch`` (from 0; fractions are steps inside an epoch)."""
        ...


class Constant:
    """The base learning rate throughout."""

    def factor(self, epoch: float) -> float:
        """Return 1."""
        return 1.0


class MultiStep:
    """Multiply by ``gamma`` at each milestone.

    Args:
        milestones: Epochs, from 0, at whose beginning the rate drops.
        gamma: Factor of each drop, greater than 0.

    Raises:
        ConfigError: Milestones do not rise, or ``gamma`` is not positive.
    """

    def __init__(self, *, milestones: list[float], gamma: float = 0.1) -> None:
        if any(b <= a for a, b in pairwise(milestones)):
            raise ConfigError(f"schedule multistep: milestones are {milestones}; they must rise")
        if gamma <= 0:
            raise ConfigError(f"schedule multistep: gamma is {gamma}; expected more than 0")
        self._milestones = milestones
        self._gamma = gamma

    def factor(self, epoch: float) -> float:
        """Return ``gamma`` to the number of milestones reached."""
        return self._gamma ** sum(epoch >= milestone for milestone in self._milestones)


class Cosine:
    """Fall along half a cosine from the end of the warm-up to the end of training.

    ``min_lr + (lr - min_lr) * (1 + cos(pi * t)) / 2``, t rising from 0 to 1.

    Args:
        total_epochs: Length of the run.
        warmup_epochs: Where the fall begins.
        base_lr: The rate it starts from.
        min_lr: The rate it ends at.

    Raises:
        ConfigError: ``min_lr`` is above the base rate.

    Source: Loshchilov and Hutter, SGDR, ICLR 2017, without restarts.
    """

    def __init__(
        self, *, total_epochs: float, warmup_epochs: float, base_lr: float, min_lr: float = 0.0
    ) -> None:
        if not 0 <= min_lr <= base_lr:
            raise ConfigError(
                f"schedule cosine: min_lr is {min_lr}; expected 0 to the learning rate {base_lr}"
            )
        self._start = warmup_epochs
        self._length = max(total_epochs - warmup_epochs, 1e-9)
        self._floor = min_lr / base_lr

    def factor(self, epoch: float) -> float:
        """Return the factor, between ``min_lr / base_lr`` and 1."""
        progress = min(max((epoch - self._start) / self._length, 0.0), 1.0)
        return self._floor + (1 - self._floor) * (1 + math.cos(math.pi * progress)) / 2
