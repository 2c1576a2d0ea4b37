"""Checks of constructor parameters, for losses that are built without a config."""

from __future__ import annotations

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
