"""Checks of what a config gives to a reader."""

from __future__ import annotations

from collections.abc import Sequence

from reid_core.errors import ConfigError, did_you_mean


def require_choice(value: str, choices: Sequence[str], *, name: str, dataset: str) -> None:
    """Check that a parameter is one of some words.

    Args:
        value: What the config says.
        choices: The words that are known.
        name: The parameter.
        dataset: The component's name, for messages.

    Raises:
        ConfigError: It is another one.
    """
    if value not in choices:
        expected = f"{', '.join(choices[:-1])} or {choices[-1]}"
        hint = did_you_mean(value, choices) if isinstance(value, str) else ""
        raise ConfigError(f"data set {dataset}: {name} is {value!r}; expected {expected}{hint}")


def require_between(value: int, low: int, high: int, *, name: str, dataset: str) -> None:
    """Check that a parameter is a whole number of a range.

    Args:
        value: What the config says.
        low: The smallest number.
        high: The largest number.
        name: The parameter.
        dataset: The component's name, for messages.

    Raises:
        ConfigError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(
            f"data set {dataset}: {name} is {value!r}; expected a whole number from {low} to {high}"
        )
