"""Checks of parameters that several transforms share."""

from __future__ import annotations

import math

from reid_core.errors import ConfigError


def require_probability(value: float, transform: str) -> float:
    """Return ``value`` if it is a probability.

    Raises:
        ConfigError: It is outside 0..1.
    """
    return require_number(value, transform, "probability", 0, 1)


def require_number(
    value: float, transform: str, parameter: str, low: float, high: float = math.inf
) -> float:
    """Return ``value`` if it is within bounds, both included, and finite.

    Args:
        value: What the configuration gave.
        transform: Name of the transform, for the message.
        parameter: Name of the parameter, for the message.
        low: Lower bound.
        high: Upper bound.

    Raises:
        ConfigError: It is not.
    """
    if math.isinf(value) or not low <= value <= high:
        bounds = f"{low:g} or more" if math.isinf(high) else f"{low:g}..{high:g}"
        raise ConfigError(f"transform {transform}: {parameter} is {value}; expected {bounds}")
    return value


def require_range(
    value: tuple[float, float],
    transform: str,
    parameter: str,
    *,
    above: float = 0.0,
    high: float = math.inf,
) -> tuple[float, float]:
    """Return ``value`` if it is a smallest and a largest number, both finite.

    Args:
        value: What the configuration gave.
        transform: Name of the transform, for the message.
        parameter: Name of the parameter, for the message.
        above: Both are greater than this.
        high: Neither is greater than this.

    Raises:
        ConfigError: The range is empty or outside the bounds.
    """
    first, last = value
    if not above < first <= last <= high or math.isinf(last):
        bounds = "both finite" if math.isinf(high) else f"high at most {high:g}"
        raise ConfigError(
            f"transform {transform}: {parameter} is {value}; expected two numbers, {above:g} < "
            f"low <= high, {bounds}"
        )
    return value
