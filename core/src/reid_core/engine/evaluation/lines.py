"""An evaluation in lines for people: figures, intervals, what they were counted over."""

from __future__ import annotations

from collections.abc import Iterator

from reid_core.engine.results import Evaluation, feature_words
from reid_core.evaluation import RetrievalResult
from reid_core.evaluation.detail import Detail, OpenSet
from reid_core.wording import counted

#: Figures whose interval is printed.
_WITH_INTERVAL = ("mAP", "mINP", "rank1", "rank5", "rank10")
#: Figures beyond the headline that are printed where they are known.
_FURTHER = ("auc", "eer", "tpr@fpr=1e-3", "r_precision", "mAP_trapezoid")


def lines_of(
    evaluation: Evaluation, result: RetrievalResult | None, detail: Detail | None
) -> Iterator[str]:
    """Yield the lines: the figures with protocol and distance, and what belongs beside them.

    Args:
        evaluation: The record.
        result: What it was made from, for the counts; None where that is not known.
        detail: What more is known; None without.
    """
    yield evaluation.line()
    if detail is not None:
        yield from _detail_lines(detail, evaluation)
    if result is not None:
        yield f"  {_counts(evaluation, result)}"
    if evaluation.protocol_description and not evaluation.postprocessing:
        # One name can stand for several rules: sysu_mm01 in all cameras or indoors.
        yield f"  protocol {evaluation.protocol}: {evaluation.protocol_description}"
    if detail is not None:
        told = set(evaluation.caveats)
        yield from (f"  warning: {text}" for text in detail.warnings if text not in told)


def _detail_lines(detail: Detail, evaluation: Evaluation) -> Iterator[str]:
    intervals = [
        f"{name} {100 * one.low:.2f} to {100 * one.high:.2f} %"
        for name in _WITH_INTERVAL
        if (one := detail.intervals.get(name)) is not None
    ]
    if intervals:
        level = detail.intervals[next(n for n in _WITH_INTERVAL if n in detail.intervals)].level
        yield f"  {100 * level:g} % intervals over identities: {'  '.join(intervals)}"
    further = [
        f"{name} {100 * detail.metrics[name]:.2f} %" for name in _FURTHER if name in detail.metrics
    ]
    if further:
        yield f"  {'  '.join(further)}"
    if detail.open_set is not None:
        yield f"  {_open_set(detail.open_set)}"


def _open_set(open_set: OpenSet) -> str:
    rates = [
        f"{name}={at} {100 * rate:.2f} %"
        for name, found in (
            ("fnir@fpir", open_set.fnir_at_fpir),
            ("fnmr@fmr", open_set.fnmr_at_fmr),
        )
        for at, rate in found.items()
    ]
    asked = f"open set, {open_set.num_mated} known and {open_set.num_unmated} unknown"
    return "  ".join([f"{asked}:", *rates])


def _counts(evaluation: Evaluation, result: RetrievalResult) -> str:
    unknown = f", {result.num_unknown} unknown" if result.num_unknown else ""
    words = feature_words(evaluation.test_feature)
    feature = f"; {words}" if words else ""
    return (
        f"{counted(evaluation.num_queries, 'query', 'queries')}: "
        f"{evaluation.num_valid_queries} valid, {result.num_skipped} skipped{unknown}; "
        f"{counted(evaluation.num_gallery, 'gallery entry', 'gallery entries')}, "
        f"{result.mean_matches:.1f} matches a query; chance rank1 {100 * result.chance_rank1:.2f} %"
        f"{feature}"
    )
