"""The schedule that loses the same share in every epoch."""

from __future__ import annotations

from reid_core.errors import ConfigError


class Exponential:
    """Multiply by ``gamma`` in every epoch, from the end of the warm-up on.

    ``lr * gamma ** (epoch - warmup_epochs)``.

    Args:
        warmup_epochs: Where the fall begins.
        gamma: Factor of an epoch, greater than 0.

    Raises:
        ConfigError: ``gamma`` is not positive.
    """

    def __init__(self, *, warmup_epochs: float, gamma: float) -> None:
        if gamma <= 0:
            raise ConfigError(f"schedule exponential: gamma is {gamma}; expected more than 0")
        self._start = warmup_epochs
        self._gamma = gamma

    def factor(self, epoch: float) -> float:
        """Return the factor."""
        return float(self._gamma ** max(epoch - self._start, 0.0))
