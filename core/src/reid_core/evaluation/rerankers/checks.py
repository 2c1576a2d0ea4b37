"""Checks of parameters that several rerankers have."""

from __future__ import annotations

import math

from reid_core.errors import ConfigError


def check_count(reranker: str, parameter: str, value: int) -> None:
    """Refuse a number of neighbours or repeats below 1.

    Raises:
        ConfigError: It is below 1.
    """
    if value < 1:
        raise ConfigError(f"{reranker}: {parameter} is {value}; expected 1 or more")


def check_alpha(reranker: str, alpha: float) -> None:
    """Refuse an exponent below 0.

    Raises:
        ConfigError: It is negative or not finite.
    """
    if not (alpha >= 0 and math.isfinite(alpha)):
        raise ConfigError(
            f"{reranker}: alpha is {alpha}; expected 0 or more (0 weighs all neighbours alike)"
        )
