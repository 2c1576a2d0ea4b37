"""Which curves the page shows, with their legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reid_core.report.curves import draw_curves
from reid_core.report.metrics import Metrics
from reid_core.report.numbers import metric_name
from reid_core.report.records import Results, Series
from reid_core.report.summary import protocols_of
from reid_core.report.thinning import thin
from reid_core.report.ticks import format_percent, format_value

#: The style sheet has this many colours with dash patterns; more lines cannot be told apart.
MAX_SERIES = 8


@dataclass(frozen=True)
class LegendEntry:
    """A line of the legend: name, last value, and how it was measured where that matters."""

    name: str
    last: str
    detail: str = ""


@dataclass(frozen=True)
class Chart:
    """A drawing with its legend; entry n of the legend explains the style class ``s<n>``."""

    title: str
    svg: Markup
    legend: tuple[LegendEntry, ...]
    notes: tuple[str, ...] = ()


def charts(metrics: Metrics, results: Results | None) -> tuple[Chart, ...]:
    """Make the charts of loss, learning rate, mAP and rank-1; one without values is left out.

    Args:
        metrics: The curves from ``metrics.jsonl``.
        results: Adds evaluations that ``metrics.jsonl`` lacks, and names the protocols.
    """
    made = [
        _chart("Loss", _family(metrics, "loss"), metrics, format_value),
        _chart("Learning rate", _family(metrics, "lr"), metrics, format_value),
    ]
    for metric in ("mAP", "rank1"):
        curves = _retrieval(metrics, results, metric)
        details = ["; ".join(protocols_of(results, one.name)) for one in curves]
        made.append(_chart(metric_name(metric), curves, metrics, format_percent, details))
    return tuple(chart for chart in made if chart is not None)


def _family(metrics: Metrics, key: str) -> list[Series]:
    """Return the curve of a key and, after it, those below it."""
    names = [name for name in metrics.series if name == key or name.startswith(f"{key}/")]
    return [metrics.series[name] for name in sorted(names, key=lambda name: name != key)]


def _retrieval(metrics: Metrics, results: Results | None, metric: str) -> list[Series]:
    """Return one curve in percent for each data set."""
    points: dict[str, dict[int, float]] = {}
    for one in results.evaluations if results else ():
        value = one.metrics.get(metric)
        # The best weights are measured after the last step: no point of the way there.
        if value is not None and one.weights == "last" and not one.postprocessing:
            points.setdefault(one.dataset, {})[one.step] = value
    for key, series in metrics.series.items():
        if key.endswith(f"/{metric}"):
            dataset = key.removesuffix(f"/{metric}")
            points.setdefault(dataset, {}).update(zip(series.steps, series.values, strict=True))
    return [
        Series(name, tuple(sorted(by_step)), tuple(100 * by_step[s] for s in sorted(by_step)))
        for name, by_step in points.items()
    ]


def _chart(
    title: str,
    curves: Sequence[Series],
    metrics: Metrics,
    text: Callable[[float], str],
    details: Sequence[str] = (),
) -> Chart | None:
    shown = curves[:MAX_SERIES]
    if not shown:
        return None
    notes = [note for one in shown if (note := _gap_note(one))]
    if len(curves) > len(shown):
        notes.append(f"{len(curves) - len(shown)} more in metrics.jsonl are not drawn.")
    svg = draw_curves(
        [thin(one) for one in shown],
        title=f"{title} over optimiser steps",
        epochs=metrics.epochs,
        tick_text=text,
    )
    padded = [*details, *[""] * len(shown)]
    legend = [
        LegendEntry(one.name, _last(one, text), detail)
        for one, detail in zip(shown, padded, strict=False)
    ]
    return Chart(title, svg, tuple(legend), tuple(notes))


def _last(series: Series, text: Callable[[float], str]) -> str:
    value = series.values[-1]
    return text(value) if math.isfinite(value) else "not finite"


def _gap_note(series: Series) -> str:
    bad = [
        step
        for step, value in zip(series.steps, series.values, strict=True)
        if not math.isfinite(value)
    ]
    if not bad:
        return ""
    return (
        f"{series.name}: {len(bad)} of {len(series)} values are not finite, "
        f"the first at step {bad[0]}; the curve has gaps there."
    )
