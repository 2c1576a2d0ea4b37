"""How an evaluation was measured: protocol, counts, chance level and threshold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reid_core.report.figure_sets import FigureSet, variant_name
from reid_core.report.numbers import ABSENT, count_text, defined_text, metric_name
from reid_core.report.records import Evaluation
from reid_core.report.ticks import format_value

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail


def box_pairs(figures: FigureSet, evaluation: Evaluation | None) -> tuple[tuple[str, str], ...]:
    """Return what a figure must be published with, as pairs of name and text.

    Args:
        figures: Evaluations that differ only in post-processing.
        evaluation: Their entry in ``results.json``; has the counts where the details lack them.
    """
    first = figures.first
    after = [variant_name(one) for one in figures.details if one.postprocessing]
    used, skipped, gallery = _counts(first, evaluation)
    chance = [
        f"{metric_name(name.removeprefix('chance_'))} {defined_text(name, value)}"
        for name, value in first.metrics.items()
        if name.startswith("chance_")
    ]
    pairs = [
        ("protocol", first.protocol),
        ("rule", first.protocol_description or ABSENT),
        ("distance", first.distance),
        ("features", first.features or "one view of each image"),
        ("post-processing", "; ".join(["none", *after]) if after else "none"),
        ("draws", "one" if first.num_trials == 1 else f"mean of {first.num_trials}"),
        ("queries used", used),
        ("queries skipped", skipped),
        ("gallery entries", gallery),
        (
            "matches a query",
            f"{first.mean_matches:.1f} in the mean" if first.mean_matches else ABSENT,
        ),
        ("chance level", ", ".join(chance) or ABSENT),
    ]
    if first.step:
        pairs.append(("weights", f"after {count_text(first.step)} steps"))
    return (*pairs, *_threshold_pairs(figures.details))


def _counts(first: Detail, evaluation: Evaluation | None) -> tuple[str, str, str]:
    """Return queries used and skipped, and the size of the gallery."""
    if first.num_gallery:
        counts: tuple[int | None, int | None, int | None] = (
            first.num_queries,
            first.num_valid_queries,
            first.num_gallery,
        )
    elif evaluation is not None:
        counts = (evaluation.num_queries, evaluation.num_valid_queries, evaluation.num_gallery)
    else:
        counts = (None, None, None)
    total, valid, gallery = counts
    skipped = None if total is None or valid is None else total - valid
    return count_text(valid), count_text(skipped), count_text(gallery)


def _threshold_pairs(details: Sequence[Detail]) -> list[tuple[str, str]]:
    pairs = []
    for one in details:
        if one.threshold is None:
            continue
        chosen = one.threshold
        how = f"{format_value(chosen.value)} for {chosen.criterion}, chosen on {chosen.source}"
        rates = ", ".join(_rate_texts(one.threshold_rates))
        name = "threshold" if not one.postprocessing else f"threshold {variant_name(one)}"
        pairs.append((name, f"{how}{f'; here {rates}' if rates else ''}"))
    return pairs


def _rate_texts(rates: Mapping[str, float]) -> Iterable[str]:
    """Yield the share of the pairs of each kind that is accepted, and the counts where known."""
    for name, kind, whose in (("tpr", "same", "one identity"), ("fpr", "different", "two")):
        if name not in rates:
            continue
        accepted, total = rates.get(f"accepted_{kind}"), rates.get(f"num_{kind}")
        counts = ""
        if accepted is not None and total is not None:
            counts = f" ({count_text(int(accepted))} of {count_text(int(total))} pairs of {whose})"
        yield f"{name.upper()} {defined_text(name, rates[name])}{counts}"
