"""Checks of parameters that several transforms share."""

from __future__ import annotations

from reid_core.errors import ConfigError


def require_probability(value: float, transform: str) -> float:
    """Return ``value`` if it is a probability.

    Raises:
        ConfigError: It is outside 0..1.
    """
    if not 0 <= value <= 1:
        raise ConfigError(f"transform {transform}: probability is {value}; expected 0..1")
    return value
