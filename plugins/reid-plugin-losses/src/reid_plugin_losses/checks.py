"""Checks of constructor parameters, for losses that are built without a config."""

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


def require_number(
    parameter: str,
    got: float,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
    example: float,
) -> None:
    """Refuse a number that is out of its range, infinite, or not a number.

    Args:
        parameter: Name of the parameter, for the message.
        got: Its value.
        above: What it must exceed.
        at_least: Its least value.
        below: What it must stay under.
        at_most: Its largest value.
        example: A value that works, for the message.

    Raises:
        ConfigError: It is out of the range.
    """
    # NaN fails every comparison, so it is refused too.
    if above < got < below and at_least <= got <= at_most:
        return
    bounds = [
        *([f"above {above:g}"] if above > -math.inf else []),
        *([f"at least {at_least:g}"] if at_least > -math.inf else []),
        *([f"below {below:g}"] if below < math.inf else []),
        *([f"at most {at_most:g}"] if at_most < math.inf else []),
    ]
    expected = " and ".join(bounds) or "a finite number"
    raise ConfigError(f"{parameter}: got {got}, expected {expected}, for example {example:g}")
