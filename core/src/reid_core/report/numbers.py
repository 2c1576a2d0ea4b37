"""How numbers are written on the page."""

from __future__ import annotations

import math
import re

#: Stands where a number was not recorded.
ABSENT = "—"
NOT_FINITE = "not finite"

_PERCENT_METRIC = re.compile(r"mAP|mINP|rank\d+")
_ORDER = ("mAP", "mINP", "rank1", "rank5", "rank10")


def metric_name(metric: str) -> str:
    """Write ``rank1`` as ``rank-1``; other names stay."""
    return re.sub(r"^rank(\d+)$", r"rank-\1", metric)


def metric_text(metric: str, value: float | None) -> str:
    """Write the value of a metric: retrieval metrics in percent, others as they are."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return NOT_FINITE
    if _PERCENT_METRIC.fullmatch(metric):
        return f"{100 * value:.1f} %"
    return f"{value:.4g}"


def metric_order(metric: str) -> tuple[int, str]:
    """Sort key: the usual metrics in their usual order, then the others by name."""
    return (_ORDER.index(metric) if metric in _ORDER else len(_ORDER), metric)


def change_text(before: float | None, after: float | None) -> str:
    """Write the difference of two fractions in percentage points; empty where one is unknown."""
    if before is None or after is None or not math.isfinite(after - before):
        return ""
    return f"{100 * (after - before):+.1f} points"


def count_text(count: int | None) -> str:
    """Write a count with a thin space between thousands."""
    return ABSENT if count is None else f"{count:,}".replace(",", "\u202f")


def when_text(step: int, epoch: float | None) -> str:
    """Write a moment of training: ``step 200, epoch 5``."""
    return f"step {step}" if epoch is None else f"step {step}, epoch {epoch:.4g}"
