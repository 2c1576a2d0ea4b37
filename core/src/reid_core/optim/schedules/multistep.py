"""The schedule of drops."""

from __future__ import annotations

from itertools import pairwise

from reid_core.errors import ConfigError


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
