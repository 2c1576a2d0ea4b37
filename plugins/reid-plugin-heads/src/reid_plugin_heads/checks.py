"""Checks of constructor parameters, for heads that are built without a config."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reid_core.errors import ConfigError, did_you_mean


def require_choice(parameter: str, got: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of ``choices``.

    Args:
        parameter: Name of the parameter, for the message.
        got: Its value.
        choices: The values that work.

    Raises:
        ConfigError: ``got`` is not one of ``choices``.
    """
    if got not in choices:
        raise ConfigError(
            f"{parameter}: got {got!r}, expected one of {', '.join(choices)}"
            f"{did_you_mean(got, choices)}"
        )


def require_positive(parameter: str, got: int) -> None:
    """Refuse a count below 1.

    Args:
        parameter: Name of the parameter, for the message.
        got: Its value.

    Raises:
        ConfigError: ``got`` is below 1.
    """
    if got < 1:
        raise ConfigError(f"{parameter}: got {got}, expected at least 1")


def require_above(parameter: str, got: float, low: float) -> None:
    """Refuse a number that is not above a bound, or not finite.

    Args:
        parameter: Name of the parameter, for the message.
        got: Its value.
        low: The bound, itself not allowed.

    Raises:
        ConfigError: ``got`` is at most ``low``, infinite or not a number.
    """
    if not low < got < math.inf:
        raise ConfigError(f"{parameter}: got {got}, expected a number above {low:g}")


def require_within(parameter: str, got: float, low: float, high: float) -> None:
    """Refuse a number outside of a range.

    Args:
        parameter: Name of the parameter, for the message.
        got: Its value.
        low: Smallest value allowed.
        high: Largest value allowed.

    Raises:
        ConfigError: ``got`` is outside of the range, or not a number.
    """
    if not low <= got <= high:
        raise ConfigError(f"{parameter}: got {got}, expected {low:g} to {high:.6g}")
