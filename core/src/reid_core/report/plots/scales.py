"""The axes of a plot: from values to places."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from reid_core.report.ticks import nice_ticks

#: Decades that a logarithmic axis shows at most: more ticks would run into each other.
MAX_DECADES = 6


@dataclass(frozen=True)
class Scale:
    """An axis between its first and last tick.

    Args:
        ticks: Ascending; where ``is_log``, powers of ten.
        is_log: Whether it is logarithmic.
    """

    ticks: tuple[float, ...]
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a finite value, from 0 to 1; what lies outside is at an end."""
        low, high = self.ticks[0], self.ticks[-1]
        value = min(max(value, low), high)
        if self.is_log:
            return math.log(value / low) / math.log(high / low)
        # Halved before subtracting: the difference of two huge values could overflow.
        return (value / 2 - low / 2) / (high / 2 - low / 2)


def linear_scale(values: Iterable[float], *, target: int = 5) -> Scale:
    """Return a linear axis that shows every finite value."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    return Scale(nice_ticks(min(finite), max(finite), target=target))


def log_scale(values: Iterable[float]) -> Scale:
    """Return a logarithmic axis up to the highest value, of at most ``MAX_DECADES``.

    Args:
        values: Fractions; those that are 0 have no place of their own and are at the left end.
    """
    positive = [value for value in values if 0 < value < math.inf] or [1.0]
    last = math.ceil(math.log10(max(positive)) - 1e-9)
    first = math.floor(math.log10(min(positive)) + 1e-9)
    first = max(min(first, last - 1), last - MAX_DECADES)
    return Scale(tuple(10.0**power for power in range(first, last + 1)), is_log=True)


def log_text(value: float) -> str:
    """Write a power of ten: ``1e-4``, and ``0.1`` and ``1`` as they are."""
    return f"{value:g}" if 0.01 <= value <= 1000 else f"1e{round(math.log10(value))}"
