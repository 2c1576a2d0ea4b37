"""The schedule along a power of the time that is left."""

from __future__ import annotations

from reid_core.errors import ConfigError
from reid_core.optim.schedules.base import Progress, floor_of


class Polynomial:
    """Fall along a power from the end of the warm-up to the end of training.

    ``min_lr + (lr - min_lr) * (1 - t) ** power``, t rising from 0 to 1.

    Args:
        total_epochs: Length of the run.
        warmup_epochs: Where the fall begins.
        base_lr: The rate it starts from.
        power: Exponent, greater than 0; 1 is a straight line.
        min_lr: The rate it ends at, from 0 to ``base_lr``.

    Raises:
        ConfigError: ``power`` is not positive, or ``min_lr`` is outside its range.

    Source: Chen et al., DeepLab, TPAMI 2018, section 4.1, where it is called "poly".
    """

    def __init__(
        self,
        *,
        total_epochs: float,
        warmup_epochs: float,
        base_lr: float,
        power: float = 1.0,
        min_lr: float = 0.0,
    ) -> None:
        if power <= 0:
            raise ConfigError(f"schedule polynomial: power is {power}; expected more than 0")
        self._floor = floor_of("polynomial", min_lr, base_lr)
        self._power = power
        self._progress = Progress(warmup_epochs, total_epochs)

    def factor(self, epoch: float) -> float:
        """Return the factor, between ``min_lr / base_lr`` and 1."""
        share = (1 - self._progress.at(epoch)) ** self._power
        return float(self._floor + (1 - self._floor) * share)
