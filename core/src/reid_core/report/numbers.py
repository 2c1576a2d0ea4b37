"""How numbers are written on the page."""

from __future__ import annotations

import math
import re

#: Stands where a number was not recorded.
ABSENT = "—"
NOT_FINITE = "not finite"
#: Stands where there is no such number, as the AP of a query without a match.
NOT_DEFINED = "not defined"

_PERCENT_METRIC = re.compile(
    r"(chance_)?(mAP\w*|mINP|rank\d+|r_precision|auc|eer|tpr|fpr|fnmr|fmr|fnir|fpir)"
    r"|(chance_)?(match_)?recall@\d+|(tpr|fnmr|fnir)@.+"
)
_ORDER = ("mAP", "mINP", "rank1", "rank5", "rank10")


def metric_name(metric: str) -> str:
    """Write ``rank1`` as ``rank-1``; other names stay."""
    return re.sub(r"^(chance_)?rank(\d+)$", r"\1rank-\2", metric)


def metric_text(metric: str, value: float | None) -> str:
    """Write the value of a metric: retrieval metrics in percent, others as they are."""
    if value is None:
        return ABSENT
    if not math.isfinite(value):
        return NOT_FINITE
    if _PERCENT_METRIC.fullmatch(metric):
        # The level of chance and rates of false positives would all be 0.1 %, or 0.0 %.
        return f"{100 * value:.2g} %" if 0 < value < 0.01 else f"{100 * value:.1f} %"
    return f"{value:.4g}"


def defined_text(metric: str, value: float | None) -> str:
    """Like :func:`metric_text`, of a value that is null or NaN where it is not defined."""
    if value is None or math.isnan(value):
        return NOT_DEFINED
    return metric_text(metric, value)


def metric_order(metric: str) -> tuple[int, str]:
    """Sort key: the usual metrics in their usual order, then the others by name and number."""
    place = _ORDER.index(metric) if metric in _ORDER else len(_ORDER)
    return (place, re.sub(r"\d+", lambda found: found[0].zfill(9), metric))


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
