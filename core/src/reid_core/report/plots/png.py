"""Plots as PNG by matplotlib, without a screen."""

from __future__ import annotations

import io
import textwrap
import warnings
from typing import TYPE_CHECKING

from reid_core.errors import DataError
from reid_core.report.plots.records import (
    BarPlot,
    HeatPlot,
    HistogramPlot,
    LinePlot,
    Plot,
    ScatterPlot,
)
from reid_core.report.plots.svg import line_scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches, and dots an inch.
SIZE = (6.4, 4.4)
DPI = 150
#: Names at an axis, and in a legend, are cut to this.
MAX_NAME = 60
#: Letters in a line of a title, and lines; wider letters still fit at this size of theirs.
TITLE_LINE = 60
TITLE_LINES = 3
TITLE_POINTS = 10
_COLOURS = (
    "#0b57b7", "#c2410c", "#15803d", "#9333ea", "#a16207", "#0e7490", "#be185d", "#4b5563",
)  # fmt: skip
_DASHES = ("-", "--", ":", "-.")


def require_matplotlib() -> None:
    """Check that PNG files can be drawn.

    Raises:
        DataError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise DataError(
            "plots as PNG need matplotlib; type: pip install 'reid-core[plots]', or leave out the "
            "PNG files: the CSV files need nothing"
        ) from error


def draw_png(plot: Plot) -> bytes:
    """Draw a plot.

    It needs no screen and leaves the settings of matplotlib alone. Letters that its font lacks
    are drawn as empty boxes.

    Args:
        plot: What it shows.

    Returns:
        The content of a PNG file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(_title(plot.title), parse_math=False, fontsize=TITLE_POINTS)
    match plot:
        case LinePlot():
            _lines(axes, plot)
        case HistogramPlot():
            _histogram(axes, plot)
        case ScatterPlot():
            _scatter(axes, plot)
        case HeatPlot():
            _heat(axes, plot)
        case BarPlot():
            _bars(axes, plot)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # One warning a letter that the font lacks says no more than the boxes do.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # The date of the file would make each run's bytes differ.
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _lines(axes: Axes, plot: LinePlot) -> None:
    factor = 100 if plot.is_share else 1
    for place, curve in enumerate(plot.curves):
        axes.plot(
            curve.x,
            [factor * value for value in curve.y],
            color=_COLOURS[place % len(_COLOURS)],
            linestyle=_DASHES[place % len(_DASHES)],
            label=_text(curve.name),
        )
    if plot.is_log:
        # Rates of 0 have no place on a logarithmic axis; the curve begins after them.
        axes.set_xscale("log", nonpositive="mask")
    y = line_scales(plot)[1].ticks
    axes.set_ylim(y[0], y[-1] + 0.02 * (y[-1] - y[0]))
    axes.set_xlabel(_text(plot.x_label), parse_math=False)
    unit = ", %" if plot.is_share else ""
    axes.set_ylabel(_text(f"{plot.y_label}{unit}"), parse_math=False)
    _finish(axes)


def _histogram(axes: Axes, plot: HistogramPlot) -> None:
    shares = [[100 * one for one in side] for side in (plot.same, plot.different)]
    axes.stairs(
        shares[0], plot.edges, fill=True, alpha=0.4, color=_COLOURS[0],
        label=f"same identity ({plot.num_same} pairs)",
    )  # fmt: skip
    axes.stairs(
        shares[1], plot.edges, color=_COLOURS[1], linestyle="--",
        label=f"different identities ({plot.num_different} pairs)",
    )  # fmt: skip
    if plot.threshold is not None:
        axes.axvline(plot.threshold, color="black", label=f"threshold {plot.threshold:.3g}")
    axes.set_xlabel(_text(plot.x_label), parse_math=False)
    axes.set_ylabel("share of the pairs, %")
    _finish(axes)


def _scatter(axes: Axes, plot: ScatterPlot) -> None:
    for cloud in plot.clouds:
        axes.scatter(
            cloud.x, cloud.y, s=12, marker="+" if cloud.is_query else "o", linewidths=0.8,
            color=_COLOURS[cloud.colour % len(_COLOURS)], label=_text(cloud.name), alpha=0.7,
        )  # fmt: skip
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second principal component")
    _finish(axes)


def _heat(axes: Axes, plot: HeatPlot) -> None:
    nan = float("nan")
    values = [[nan if one is None else 100 * one for one in row] for row in plot.values]
    axes.imshow(values, vmin=0, vmax=100, cmap="Blues", aspect="auto")
    for row, cells in enumerate(plot.values):
        for column, one in enumerate(cells):
            if one is not None:
                colour = "white" if one > 0.6 else "black"
                axes.text(
                    column, row, f"{100 * one:.0f}", ha="center", va="center", color=colour,
                    fontsize=7,
                )  # fmt: skip
    axes.set_xticks(range(len(plot.columns)), [_text(name) for name in plot.columns], rotation=90)
    axes.set_yticks(range(len(plot.rows)), [_text(name) for name in plot.rows])
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)
        label.set_fontsize(7)
    axes.set_xlabel("camera of the gallery")
    axes.set_ylabel("camera of the query")


def _bars(axes: Axes, plot: BarPlot) -> None:
    places = range(len(plot.names))
    axes.barh(places, plot.counts, color=_COLOURS[1])
    axes.set_yticks(places, [_text(name) for name in plot.names])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.set_xlabel("queries")


def _finish(axes: Axes) -> None:
    axes.grid(alpha=0.3)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        for text in axes.legend(handles, labels, fontsize=8).get_texts():
            # A dollar sign in a name is no formula.
            text.set_parse_math(False)


def _title(title: str) -> str:
    """Return a title in lines that fit; words longer than a line are broken."""
    lines = textwrap.wrap(
        _line(title), TITLE_LINE, max_lines=TITLE_LINES, placeholder=" …", break_on_hyphens=False
    )
    return "\n".join(lines)


def _line(name: str) -> str:
    return " ".join(name.encode("utf-8", "backslashreplace").decode().split()) or "—"


def _text(name: str) -> str:
    """Return a name that can be drawn: one line, not long, without half letters."""
    # matplotlib takes a leading underscore for a line that has no legend.
    line = _line(name)
    line = f"\u200a{line}" if line.startswith("_") else line
    return line if len(line) <= MAX_NAME else f"{line[: MAX_NAME - 1]}…"
