"""Curves as inline SVG: axes, ticks and lines, coloured by the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from reid_core.report.records import Series
from reid_core.report.ticks import format_step, format_value, nice_ticks

#: Units of the drawing: on a phone one unit is about one pixel, so that 11-unit text is readable.
WIDTH, HEIGHT = 360.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 16.0, 10.0, 46.0
#: Up to this many points, each one gets a dot: evaluations are few and far apart.
MAX_DOTS = 40
#: Units from one epoch of the axis to the next, at least: its number must have room.
EPOCH_ROOM = 45.0


@dataclass(frozen=True)
class Axes:
    """The map from values to the drawing.

    Args:
        x_high: Last step; the first is always 0.
        y_ticks: Numbers on the value axis; the first and the last are its ends.
    """

    x_high: float
    y_ticks: tuple[float, ...]

    def x(self, step: float) -> float:
        """Return the horizontal place of a step."""
        return LEFT + (WIDTH - LEFT - RIGHT) * step / self.x_high

    def y(self, value: float) -> float:
        """Return the vertical place of a finite value."""
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)


def draw_curves(
    series: Sequence[Series],
    *,
    title: str,
    epochs: Mapping[int, float],
    tick_text: Callable[[float], str] = format_value,
) -> Markup:
    """Draw curves over steps, each in the style class ``s0``, ``s1``, … of its position.

    Args:
        series: The curves; values that are not finite leave a gap.
        title: What a screen reader calls the drawing.
        epochs: Epochs done by step; written under the steps where there are any.
        tick_text: Writes a number of the value axis.

    Returns:
        An ``<svg>`` element, everything in it escaped.
    """
    axes = fit_axes(series)
    parts = [*_value_axis(axes, tick_text), *_step_axis(axes, epochs)]
    for position, one in enumerate(series):
        parts += _curve(one, axes, position)
    return Markup(
        '<svg viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(f"{WIDTH:g}", f"{HEIGHT:g}", title, title, Markup("").join(parts))


def fit_axes(series: Sequence[Series]) -> Axes:
    """Return axes that show every finite value, and zero: a cut axis exaggerates changes."""
    values = [value for one in series for value in one.values if math.isfinite(value)]
    steps = [step for one in series for step in one.steps]
    x_high = float(max([*steps, 0])) or 1.0
    return Axes(x_high, nice_ticks(min([0.0, *values]), max([0.0, *values])))


def step_at(epoch: float, epochs: Mapping[int, float]) -> float | None:
    """Interpolate the step at which an epoch is done; None where no two rows enclose it."""
    known = {0: 0.0, **epochs} if epochs else {}
    for (before, low), (after, high) in pairwise(sorted(known.items())):
        if low <= epoch <= high:
            share = (epoch - low) / (high - low) if high > low else 0.0
            return before + (after - before) * share
    return None


def _value_axis(axes: Axes, tick_text: Callable[[float], str]) -> list[Markup]:
    parts = []
    for tick in axes.y_ticks:
        y = f"{axes.y(tick):.1f}"
        line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>')
        text = Markup('<text class="tick end" x="{}" y="{}" dy="0.35em">{}</text>')
        parts.append(line.format(f"{LEFT:g}", f"{WIDTH - RIGHT:g}", y, y))
        parts.append(text.format(f"{LEFT - 5:g}", y, tick_text(tick)))
    return parts


def _step_axis(axes: Axes, epochs: Mapping[int, float]) -> list[Markup]:
    text = Markup('<text class="tick mid" x="{}" y="{}">{}</text>')
    bottom = HEIGHT - BOTTOM
    parts = []
    for tick in nice_ticks(0.0, axes.x_high, target=4):
        if tick > axes.x_high or tick != int(tick):
            continue
        x = f"{axes.x(tick):.1f}"
        mark = Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>')
        parts.append(mark.format(x, x, f"{bottom:g}", f"{bottom + 4:g}"))
        parts.append(text.format(x, f"{bottom + 15:g}", format_step(tick)))
    for epoch, place in _epoch_ticks(axes, epochs):
        parts.append(text.format(f"{place:.1f}", f"{bottom + 28:g}", f"ep {epoch:g}"))
    name = "optimiser steps, epochs below" if epochs else "optimiser steps"
    middle = f"{(LEFT + WIDTH - RIGHT) / 2:g}"
    parts.append(text.format(middle, f"{HEIGHT - 4:g}", name))
    base = Markup('<line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>')
    parts.append(base.format(f"{LEFT:g}", f"{WIDTH - RIGHT:g}", f"{bottom:g}", f"{bottom:g}"))
    return parts


def _epoch_ticks(axes: Axes, epochs: Mapping[int, float]) -> list[tuple[float, float]]:
    """Return round epochs and their places: at a round step an epoch is seldom round."""
    found: list[tuple[float, float]] = []
    for tick in nice_ticks(0.0, max(epochs.values(), default=0.0), target=4):
        epoch = float(f"{tick:.6g}")
        step = step_at(epoch, epochs)
        if step is None or step > axes.x_high:
            continue
        place = axes.x(step)
        if not found or place - found[-1][1] >= EPOCH_ROOM:
            found.append((epoch, place))
    return found


def _curve(series: Series, axes: Axes, position: int) -> list[Markup]:
    runs = _finite_runs(series, axes)
    path = " ".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in run) for run in runs)
    parts = [Markup('<path class="curve s{}" d="{}"/>').format(position, path)] if path else []
    dotted = [run for run in runs if len(series) <= MAX_DOTS or len(run) == 1]
    circle = Markup('<circle class="dot s{}" cx="{}" cy="{}" r="2.2"/>')
    parts += [circle.format(position, f"{x:.1f}", f"{y:.1f}") for run in dotted for x, y in run]
    return parts


def _finite_runs(series: Series, axes: Axes) -> list[list[tuple[float, float]]]:
    """Return the points in runs, cut where a value is not finite."""
    runs: list[list[tuple[float, float]]] = [[]]
    for step, value in zip(series.steps, series.values, strict=True):
        if math.isfinite(value):
            runs[-1].append((axes.x(step), axes.y(value)))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
