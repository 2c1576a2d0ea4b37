"""Figures that must be reached or kept: ``--min mAP=0.8``, ``--max eer=0.05``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from reid_core.errors import UsageError, nearest

if TYPE_CHECKING:
    from reid_core.engine.results import Evaluation
    from reid_core.evaluation.detail import Detail

#: Exit code where a figure is below its minimum, above its maximum, or not measured.
MISSED = 5

_HEADLINES = ("mAP", "mINP", "rank1", "rank5", "rank10")
_FURTHER = ("mAP_trapezoid", "r_precision", "auc")
#: Figures with a number in their name.
_PATTERNS = {
    "rankK": re.compile(r"rank([1-9]|[1-4]\d|50)"),
    "recall@K": re.compile(r"recall@([1-9]|[1-4]\d|50|100)"),
    "match_recall@K": re.compile(r"match_recall@(1|5|10|50|100)"),
    "tpr@fpr=RATE": re.compile(r"tpr@fpr=1e-[1-4]"),
}
_KNOWN = (*_HEADLINES, *_FURTHER, *_PATTERNS)
#: Figures that are better when they are lower, with a number in the name of some.
_ERRORS = {
    "eer": re.compile(r"eer"),
    "fnir@fpir=RATE": re.compile(r"fnir@fpir=1e-[1-3]"),
    "fnmr@fmr=RATE": re.compile(r"fnmr@fmr=1e-[1-4]"),
}
_RERANK = "rerank:"


@dataclass(frozen=True)
class Minimum:
    """A figure that each test set must reach, or an error rate that it must not exceed.

    Args:
        metric: Its name.
        value: The fraction that is wanted, 0 to 1.
        of_reranked: Whether it is the figure after re-ranking; otherwise the plain one.
        is_maximum: Whether the value is the most that is allowed; otherwise the least.
    """

    metric: str
    value: float
    of_reranked: bool = False
    is_maximum: bool = False

    @classmethod
    def parse(cls, text: str) -> Minimum:
        """Read ``mAP=0.8``, ``mAP=80%``, ``tpr@fpr=1e-3=0.9`` or ``rerank:mAP=0.85``.

        Raises:
            UsageError: The metric is not known, or the value is no fraction.
        """
        name, _, value = text.replace(" ", "").rpartition("=")
        if _is_error(name.removeprefix(_RERANK)):
            raise UsageError(f"--min {text}: {name} is better when it is lower: use --max {text}")
        metric = name.removeprefix(_RERANK)
        is_known = metric in _KNOWN[: len(_HEADLINES) + len(_FURTHER)] or any(
            pattern.fullmatch(metric) for pattern in _PATTERNS.values()
        )
        if not is_known:
            raise UsageError(
                f"--min {text}: expected METRIC=FRACTION with a metric of {', '.join(_KNOWN)} "
                f"(RATE is 1e-4 to 1e-1), or rerank:METRIC=FRACTION{_hint(metric)}"
            )
        return cls(metric, _fraction(f"--min {text}", value), name.startswith(_RERANK))

    @classmethod
    def parse_maximum(cls, text: str) -> Minimum:
        """Read ``eer=0.05``, ``fnir@fpir=1e-2=10%`` or ``rerank:eer=0.04``.

        Raises:
            UsageError: It is no error rate, or the value is no fraction.
        """
        name, _, value = text.replace(" ", "").rpartition("=")
        metric = name.removeprefix(_RERANK)
        if not _is_error(metric):
            near = nearest(metric, tuple(_ERRORS))
            raise UsageError(
                f"--max {text}: expected METRIC=FRACTION with a metric of {', '.join(_ERRORS)} "
                "(RATE is 1e-3 to 1e-1, of fnmr from 1e-4), or rerank:METRIC=FRACTION"
                + (f"; did you mean {near}?" if near else "; other figures have a --min")
            )
        of_reranked = name.startswith(_RERANK)
        return cls(metric, _fraction(f"--max {text}", value), of_reranked, is_maximum=True)

    @property
    def option(self) -> str:
        """How it is asked for."""
        return f"--{'max' if self.is_maximum else 'min'} {self.name}={self.value:g}"

    @property
    def name(self) -> str:
        """The metric, with ``rerank:`` where it is the figure after re-ranking."""
        return f"{_RERANK}{self.metric}" if self.of_reranked else self.metric

    @property
    def needs_details(self) -> bool:
        """Whether it is beyond the figures that every evaluation has."""
        return self.metric not in _HEADLINES


@dataclass(frozen=True)
class Verdict:
    """Whether a test set reaches a minimum, or keeps to a maximum.

    Args:
        dataset: Name of the test set.
        metric: Name of the figure, with ``rerank:`` where it is the one after re-ranking.
        wanted: The minimum or maximum.
        value: The figure; NaN where it was not measured.
        is_met: Whether it is at least the minimum, or at most the maximum.
        is_maximum: Whether it is a maximum.
    """

    dataset: str
    metric: str
    wanted: float
    value: float
    is_met: bool
    is_maximum: bool = False

    def line(self) -> str:
        """Return it in one line."""
        wanted = f"the {'maximum' if self.is_maximum else 'minimum'} of {100 * self.wanted:g} %"
        if math.isnan(self.value):
            return f"{self.dataset}: {self.metric} is not measured; {wanted} is wanted"
        text = f"{self.dataset}: {self.metric} is {100 * self.value:.2f} %"
        if self.is_met:
            return f"{text}, at {'most' if self.is_maximum else 'least'} {wanted}"
        points = f"{100 * abs(self.wanted - self.value):.2g} points"
        return f"{text}, {'above' if self.is_maximum else 'below'} {wanted} by {points}"

    def plain(self) -> dict[str, object]:
        """Return it as plain types."""
        return asdict(self)


def judge(
    minimums: Sequence[Minimum],
    evaluations: Sequence[Evaluation],
    detail_of: Callable[[Evaluation], Detail | None],
) -> list[Verdict]:
    """Hold figures to their minimums and maximums; one that is not measured misses them.

    Args:
        minimums: What is wanted.
        evaluations: The records, plain and reranked.
        detail_of: What more is known of an evaluation.

    Raises:
        UsageError: No evaluation has the figure.
    """
    verdicts = []
    for minimum in minimums:
        asked = [one for one in evaluations if bool(one.postprocessing) == minimum.of_reranked]
        values = [_value(minimum.metric, one, detail_of(one)) for one in asked]
        if all(value is None for value in values):
            why = (
                "nothing is re-ranked: add --rerank"
                if minimum.of_reranked and not any(one.postprocessing for one in evaluations)
                else "no test set has this figure"
            )
            raise UsageError(f"{minimum.option}: {why}")
        verdicts += [
            _verdict(minimum, evaluation, math.nan if value is None else value)
            for evaluation, value in zip(asked, values, strict=True)
        ]
    return verdicts


def _verdict(minimum: Minimum, evaluation: Evaluation, value: float) -> Verdict:
    # NaN is no figure, so it does not reach anything.
    is_met = bool(value <= minimum.value if minimum.is_maximum else value >= minimum.value)
    return Verdict(
        evaluation.dataset, minimum.name, minimum.value, value, is_met, minimum.is_maximum
    )


def _is_error(metric: str) -> bool:
    return any(pattern.fullmatch(metric) for pattern in _ERRORS.values())


def _value(metric: str, evaluation: Evaluation, detail: Detail | None) -> float | None:
    if metric in evaluation.metrics:
        return evaluation.metrics[metric]
    if detail is None:
        return None
    if metric in detail.metrics:
        return detail.metrics[metric]
    # Recall at K of queries is the CMC at K.
    rank = re.fullmatch(r"(?:rank|recall@)(\d+)", metric)
    if rank:
        return detail.cmc[int(rank[1]) - 1] if int(rank[1]) <= len(detail.cmc) else None
    return _of_pairs(metric, detail)


def _of_pairs(metric: str, detail: Detail) -> float | None:
    if detail.verification is None:
        return None
    rates: Mapping[str, float] = detail.verification.tpr_at_fpr
    if metric == "auc":
        return detail.verification.auc
    return rates.get(metric.removeprefix("tpr@fpr="))


def _fraction(text: str, value: str) -> float:
    try:
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise UsageError(
            f"{text}: expected a fraction from 0 to 1 or a percentage, such as 0.8 or 80%"
        )
    return number


def _hint(metric: str) -> str:
    near = nearest(metric, _KNOWN)
    return f"; did you mean {near}?" if near else ""
