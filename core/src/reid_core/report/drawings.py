"""The plots of an evaluation as the page shows them, with legends."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from reid_core.report.charts import MAX_SERIES
from reid_core.report.numbers import count_text
from reid_core.report.plots.records import HistogramPlot, LinePlot, ScatterPlot
from reid_core.report.plots.svg import (
    MAX_CLOUD,
    draw_histogram,
    draw_lines,
    draw_scatter,
    line_scales,
)
from reid_core.report.ticks import format_value

_LINE = "M1 5L29 5"
_AREA = "M1 9V4H29V9Z"
_POINT = "M11 5a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z"
_CROSS = "M10 5h10m-5-5v10"
_UPRIGHT = "M15 0V10"


@dataclass(frozen=True)
class Mark:
    """A line of a legend: the style and shape of what it explains, its name, and figures."""

    style: str
    shape: str
    name: str
    detail: str = ""


@dataclass(frozen=True)
class Drawing:
    """A plot on the page.

    Args:
        title: Heading.
        svg: The drawing, everything in it escaped.
        legend: What its colours and shapes mean.
        text: What it shows, and how it is read.
        notes: What is not drawn.
    """

    title: str
    svg: Markup
    legend: tuple[Mark, ...]
    text: str = ""
    notes: tuple[str, ...] = ()


def lines_drawing(plot: LinePlot, text: str) -> Drawing:
    """Draw curves; more than there are styles for are left out, and counted."""
    shown = LinePlot(**{**vars(plot), "curves": plot.curves[:MAX_SERIES]})
    left_out = len(plot.curves) - len(shown.curves)
    notes = [f"{left_out} more are not drawn; the CSV holds them."] if left_out else []
    low = line_scales(shown)[1].ticks[0]
    if low > 0:
        notes.append(f"The axis of values begins at {low:g}{' %' if plot.is_share else ''}.")
    legend = tuple(
        Mark(f"curve s{position}", _LINE, one.name, one.detail)
        for position, one in enumerate(shown.curves)
    )
    return Drawing(plot.title, draw_lines(shown), legend, text, tuple(notes))


def histogram_drawing(plot: HistogramPlot, how_chosen: str) -> Drawing:
    """Draw the distances of pairs.

    Args:
        plot: The histograms.
        how_chosen: What the threshold was chosen for; only read where there is one.
    """
    legend = [
        Mark("area s0", _AREA, "same identity", f"{count_text(plot.num_same)} pairs"),
        Mark("curve s1", _LINE, "different identities", f"{count_text(plot.num_different)} pairs"),
    ]
    if plot.threshold is not None:
        name = f"threshold {format_value(plot.threshold)}"
        legend.append(Mark("threshold", _UPRIGHT, name, how_chosen))
    text = (
        "Share of the pairs of each kind by distance. The less the two overlap, the better a "
        "threshold tells them apart."
    )
    return Drawing(plot.title, draw_histogram(plot), tuple(legend), text)


def map_drawing(plot: ScatterPlot, explained: float) -> Drawing:
    """Draw the map of embeddings.

    Args:
        plot: The points.
        explained: Share of the variance that the two axes show.
    """
    legend = tuple(
        Mark(
            f"{'cross' if one.is_query else 'dot'} s{one.colour}",
            _CROSS if one.is_query else _POINT,
            one.name,
        )
        for one in plot.clouds
    )
    text = (
        f"The two principal components of a sample. They show {100 * explained:.0f} % of the "
        "variance: what lies together here may lie apart in the others."
    )
    is_thinned = any(len(one.x) > MAX_CLOUD for one in plot.clouds)
    notes = (f"At most {MAX_CLOUD} points of a kind are drawn.",) if is_thinned else ()
    return Drawing(plot.title, draw_scatter(plot), legend, text, notes)
