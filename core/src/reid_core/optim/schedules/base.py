"""What every schedule promises, and the straight line that several of them bend.

A schedule has no state: the learning rate of a step depends on the step alone, so a resumed run
needs nothing restored. It is built with ``total_epochs``, ``warmup_epochs``, ``tick_epochs`` and
``base_lr`` where its signature names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from reid_core.errors import ConfigError


class Schedule(Protocol):
    """What every schedule promises."""

    def factor(self, epoch: float) -> float:
        """Return the factor at ``epoch`` (from 0; fractions are steps inside an epoch)."""
        ...


@dataclass(frozen=True)
class Progress:
    """The way from the beginning of a fall, 0, to its end, 1.

    Args:
        start: Epoch at which it begins.
        end: Epoch at which it ends.
    """

    start: float
    end: float

    def at(self, epoch: float) -> float:
        """Return how far the fall has come, from 0 to 1."""
        if self.end <= self.start:
            return 1.0 if epoch >= self.end else 0.0
        return min(max((epoch - self.start) / (self.end - self.start), 0.0), 1.0)


def floor_of(schedule: str, min_lr: float, base_lr: float) -> float:
    """Return the lowest factor that keeps the rate at ``min_lr`` or above.

    Args:
        schedule: Name of the schedule, for the message.
        min_lr: The lowest rate, from 0 to ``base_lr``.
        base_lr: The rate that the factor acts on, above 0.

    Raises:
        ConfigError: ``min_lr`` is outside its range.
    """
    if not 0 <= min_lr <= base_lr:
        raise ConfigError(
            f"schedule {schedule}: min_lr is {min_lr}; expected 0 to the learning rate {base_lr}"
        )
    return min_lr / base_lr
