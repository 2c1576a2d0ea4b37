"""Plots as inline SVG, coloured by the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from reid_core.report.curves import HEIGHT, LEFT, MAX_DOTS, RIGHT, TOP, WIDTH
from reid_core.report.plots.records import Curve, HistogramPlot, LinePlot, ScatterPlot
from reid_core.report.plots.scales import Scale, linear_scale, log_scale, log_text
from reid_core.report.ticks import format_percent, format_value

#: Room for numbers and name of the horizontal axis.
BOTTOM = 38.0
#: Points of a curve, and of a cloud, that are drawn; the CSV holds them all.
MAX_POINTS = 400
MAX_CLOUD = 2000
#: Where all shares are at least this, their axis does not begin at 0.
MIN_TO_CUT = 0.5

_RIGHT_END = WIDTH - RIGHT
_BASE = HEIGHT - BOTTOM

_LINE = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
_TEXT = Markup('<text class="tick {}" x="{:.1f}" y="{:.1f}">{}</text>')
_PATH = Markup('<path class="{}" d="{}"/>')


def draw_lines(plot: LinePlot) -> Markup:
    """Draw curves, each in the style class ``s0``, ``s1``, … of its position."""
    x, y = line_scales(plot)
    parts = _frame(
        x,
        y,
        x_text=log_text if plot.is_log else format_value,
        y_text=format_percent if plot.is_share else format_value,
        x_label=plot.x_label,
    )
    for position, curve in enumerate(plot.curves):
        parts += _curve(curve, x, y, position, factor=100.0 if plot.is_share else 1.0)
    return _svg(f"{plot.title}: {plot.y_label} over {plot.x_label}", parts)


def line_scales(plot: LinePlot) -> tuple[Scale, Scale]:
    """Return the axes of a plot of lines.

    They hold zero, unless the plot does without: a cut axis exaggerates differences. Only shares of
    at least ``MIN_TO_CUT`` would be one line at the top, and get an axis of their own, up to 100 %.
    """
    places = [place for curve in plot.curves for place in curve.x]
    values = [value for curve in plot.curves for value in curve.y if math.isfinite(value)]
    shown = [0.0, *values] if plot.holds_zero else values
    y = linear_scale([0.0, 100.0] if plot.is_share else shown)
    if plot.is_share and values and min(values) >= MIN_TO_CUT:
        y = linear_scale([100 * min(values), 100.0])
    if plot.is_log:
        return log_scale(places), y
    scale = linear_scale(places)
    # A round number below rank 1 is no rank.
    return Scale((min(places, default=0.0), *_inside(scale, places))), y


def draw_histogram(plot: HistogramPlot) -> Markup:
    """Draw both histograms over each other, that of the same identity filled."""
    x = linear_scale([plot.edges[0], plot.edges[-1]]) if plot.edges else linear_scale([0.0, 1.0])
    y = linear_scale([0.0, *(100 * share for share in (*plot.same, *plot.different))])
    parts = _frame(x, y, x_text=format_value, y_text=format_percent, x_label=plot.x_label)
    for shares, style in ((plot.same, "area s0"), (plot.different, "curve s1")):
        if shares:
            parts.append(_PATH.format(style, _steps(plot.edges, shares, x, y)))
    if plot.threshold is not None and math.isfinite(plot.threshold):
        place = _across(x, plot.threshold)
        parts.append(_LINE.format("threshold", place, place, TOP, _BASE))
    return _svg(plot.title, parts)


def draw_scatter(plot: ScatterPlot) -> Markup:
    """Draw points: dots, and crosses for queries; both axes have one unit."""
    places = [value for cloud in plot.clouds for value in cloud.x if math.isfinite(value)]
    heights = [value for cloud in plot.clouds for value in cloud.y if math.isfinite(value)]
    x, y = _same_unit(places, heights)
    parts = [
        _LINE.format("axis", LEFT, _RIGHT_END, _BASE, _BASE),
        _LINE.format("axis", LEFT, LEFT, TOP, _BASE),
        _TEXT.format("mid", (LEFT + _RIGHT_END) / 2, _BASE + 15, "first principal component"),
        Markup(
            '<text class="tick mid" transform="translate({:.1f} {:.1f}) rotate(-90)">{}</text>'
        ).format(LEFT - 10, (TOP + _BASE) / 2, "second principal component"),
    ]
    for cloud in plot.clouds:
        mark = "m-2.5 0h5m-2.5-2.5v5" if cloud.is_query else "h0"
        points = zip(_thinned(cloud.x, MAX_CLOUD), _thinned(cloud.y, MAX_CLOUD), strict=True)
        path = "".join(
            f"M{_across(x, a):.1f} {_up(y, b):.1f}{mark}"
            for a, b in points
            if math.isfinite(a) and math.isfinite(b)
        )
        kind = "cross" if cloud.is_query else "points"
        if path:
            parts.append(_PATH.format(f"{kind} s{cloud.colour}", path))
    return _svg(plot.title, parts, height=_BASE + 22)


def _svg(title: str, parts: Iterable[Markup], *, height: float = HEIGHT) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(f"{WIDTH:g}", f"{height:g}", title, title, Markup("").join(parts))


def _frame(
    x: Scale,
    y: Scale,
    *,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    x_label: str,
) -> list[Markup]:
    parts = []
    for tick in y.ticks:
        height = _up(y, tick)
        parts.append(_LINE.format("grid", LEFT, _RIGHT_END, height, height))
        parts.append(_TEXT.format("end", LEFT - 5, height + 4, y_text(tick)))
    for tick in x.ticks:
        place = _across(x, tick)
        parts.append(_LINE.format("axis", place, place, _BASE, _BASE + 4))
        parts.append(_TEXT.format("mid", place, _BASE + 16, x_text(tick)))
    parts.append(_LINE.format("axis", LEFT, _RIGHT_END, _BASE, _BASE))
    parts.append(_TEXT.format("mid", (LEFT + _RIGHT_END) / 2, HEIGHT - 5, x_label))
    return parts


def _curve(curve: Curve, x: Scale, y: Scale, position: int, *, factor: float) -> list[Markup]:
    runs: list[list[tuple[float, float]]] = [[]]
    first = _first_shown(curve.x, x)
    for place, value in zip(
        _thinned(curve.x[first:], MAX_POINTS), _thinned(curve.y[first:], MAX_POINTS), strict=True
    ):
        if math.isfinite(place) and math.isfinite(value):
            runs[-1].append((_across(x, place), _up(y, factor * value)))
        elif runs[-1]:
            runs.append([])
    path = " ".join("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in run) for run in runs if run)
    parts = [_PATH.format(f"curve s{position}", path)] if path else []
    circle = Markup('<circle class="dot s{}" cx="{:.1f}" cy="{:.1f}" r="2.2"/>')
    dotted = [run for run in runs if len(curve.x) <= MAX_DOTS or len(run) == 1]
    return parts + [circle.format(position, a, b) for run in dotted for a, b in run]


def _first_shown(places: Sequence[float], x: Scale) -> int:
    """Return the last of the points that a logarithmic axis has no place for, or 0.

    All of them would be at its left end, above each other.
    """
    if not x.is_log:
        return 0
    return max(0, sum(place <= x.ticks[0] for place in places) - 1)


def _steps(edges: Sequence[float], shares: Sequence[float], x: Scale, y: Scale) -> str:
    path = f"M{_across(x, edges[0]):.1f} {_BASE:.1f}"
    for edge, share in zip(edges, shares, strict=False):
        path += f"H{_across(x, edge):.1f}V{_up(y, 100 * share):.1f}"
    return f"{path}H{_across(x, edges[-1]):.1f}V{_BASE:.1f}"


def _across(scale: Scale, value: float) -> float:
    return LEFT + (_RIGHT_END - LEFT) * scale.at(value)


def _up(scale: Scale, value: float) -> float:
    return _BASE - (_BASE - TOP) * scale.at(value)


def _inside(scale: Scale, places: Sequence[float]) -> tuple[float, ...]:
    """Return the ticks above the lowest place up to the highest, and that place as the end."""
    low, high = min(places, default=0.0), max(places, default=1.0)
    if high <= low:
        return (low + 1.0,)
    gap = scale.ticks[1] - scale.ticks[0]
    # A number closer to an end than this would run into that of the end.
    return (*(t for t in scale.ticks if low + gap / 2 < t < high - gap / 2), high)


def _same_unit(places: Sequence[float], heights: Sequence[float]) -> tuple[Scale, Scale]:
    """Return two axes on which a distance is equally long, the points in the middle."""
    boxes = [(min(values), max(values)) if values else (0.0, 1.0) for values in (places, heights)]
    sizes = (_RIGHT_END - LEFT, _BASE - TOP)
    unit = max((high - low) / size for (low, high), size in zip(boxes, sizes, strict=True)) or 1.0
    scales = []
    for (low, high), size in zip(boxes, sizes, strict=True):
        middle, half = (low + high) / 2, 0.52 * unit * size
        scales.append(Scale((middle - half, middle + half)))
    return scales[0], scales[1]


def _thinned(values: Sequence[float], count: int) -> list[float]:
    """Return at most ``count`` values at even distances, the first and the last among them."""
    if len(values) <= count:
        return list(values)
    last = len(values) - 1
    return [values[round(index * last / (count - 1))] for index in range(count)]
