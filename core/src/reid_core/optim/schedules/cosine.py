"""The schedule along half a cosine."""

from __future__ import annotations

import math

from reid_core.optim.schedules.base import Progress, floor_of


class Cosine:
    """Fall along half a cosine from the end of the warm-up to the end of training.

    ``min_lr + (lr - min_lr) * (1 + cos(pi * t)) / 2``, t rising from 0 to 1.

    Args:
        total_epochs: Length of the run.
        warmup_epochs: Where the fall begins.
        base_lr: The rate it starts from.
        min_lr: The rate it ends at, from 0 to ``base_lr``.

    Raises:
        ConfigError: ``min_lr`` is outside its range.

    Source: Loshchilov and Hutter, SGDR, ICLR 2017, equation 5, without restarts.
    """

    def __init__(
        self, *, total_epochs: float, warmup_epochs: float, base_lr: float, min_lr: float = 0.0
    ) -> None:
        self._floor = floor_of("cosine", min_lr, base_lr)
        self._progress = Progress(warmup_epochs, total_epochs)

    def factor(self, epoch: float) -> float:
        """Return the factor, between ``min_lr / base_lr`` and 1."""
        share = (1 + math.cos(math.pi * self._progress.at(epoch))) / 2
        return self._floor + (1 - self._floor) * share
