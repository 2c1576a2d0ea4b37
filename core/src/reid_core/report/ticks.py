"""Where an axis gets its numbers, and how they are written."""

from __future__ import annotations

import math

#: Below this the powers of ten run out.
_SMALLEST_RANGE = 1e-290


def nice_ticks(low: float, high: float, *, target: int = 5) -> tuple[float, ...]:
    """Return round numbers, 1, 2 or 5 times a power of ten apart, that enclose a range.

    Args:
        low: Lower end, finite.
        high: Upper end, finite; where it is not above ``low`` by more than rounding, the range
            is widened.
        target: About how many intervals are wanted, at least 1.

    Returns:
        Ascending ticks; the first is at most ``low`` and the last at least ``high``.
    """
    size = max(abs(low), abs(high))
    if high - low <= max(1e-9 * size, _SMALLEST_RANGE):
        high = low + (size if size > _SMALLEST_RANGE else 1.0)
    # Divided before subtracting: the difference of two huge values could overflow.
    gap = _nice_gap(high / target - low / target)
    # A tick a rounding error beyond the end would add an empty interval.
    first, last = math.floor(low / gap + 1e-9), math.ceil(high / gap - 1e-9)
    return tuple(index * gap for index in range(first, last + 1))


def _nice_gap(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 5.0):
        if factor * power >= raw * (1 - 1e-9):
            return factor * power
    return 10.0 * power


def format_step(step: float) -> str:
    """Write a count of steps briefly: ``800``, ``1.2k``, ``15M``."""
    if step >= 1_000_000:
        return f"{step / 1_000_000:g}M"
    return f"{step / 1_000:g}k" if step >= 1_000 else f"{step:g}"


def format_value(value: float) -> str:
    """Write a value to three significant digits."""
    return f"{value:.3g}"


def format_percent(value: float) -> str:
    """Write a value that is already in percent."""
    return f"{value:.3g} %"
