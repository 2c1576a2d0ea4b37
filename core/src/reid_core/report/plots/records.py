"""What a plot shows, whatever it is drawn with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Curve:
    """A line of a plot.

    Args:
        name: Name for the legend.
        x: (N,) places.
        y: (N,) values; those that are not finite leave a gap.
        detail: What the legend says beside the name.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    detail: str = ""


@dataclass(frozen=True)
class LinePlot:
    """Curves over one axis.

    Args:
        stem: Name of its files, without ending.
        title: Heading.
        x_label: What the horizontal axis shows.
        y_label: What the values are.
        curves: The lines, in the order of their colours.
        is_log: Whether the horizontal axis is logarithmic.
        is_share: Whether values are fractions, drawn from 0 to 100 %.
        holds_zero: Whether the axis of values holds zero; shares have an axis of their own.
    """

    stem: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    is_log: bool = False
    is_share: bool = False
    holds_zero: bool = True


@dataclass(frozen=True)
class HistogramPlot:
    """Distances of pairs of one identity and of two, as shares of each.

    Args:
        stem: Name of its files, without ending.
        title: Heading.
        x_label: What the distances are.
        edges: (B + 1,) edges of the bins, ascending.
        same: (B,) share of the pairs of one identity in each bin.
        different: (B,) share of the pairs of two.
        num_same: Pairs of one identity.
        num_different: Pairs of two identities.
        threshold: The distance up to which a pair is accepted; None without one.
    """

    stem: str
    title: str
    x_label: str
    edges: tuple[float, ...]
    same: tuple[float, ...]
    different: tuple[float, ...]
    num_same: int
    num_different: int
    threshold: float | None = None


@dataclass(frozen=True)
class Cloud:
    """Points of one colour.

    Args:
        name: Name for the legend.
        x: (N,) places.
        y: (N,) heights.
        pids: (N,) identities.
        colour: Position of the colour, from 0 to 7.
        is_query: Whether they are drawn as crosses; the others are dots.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    pids: tuple[str, ...]
    colour: int = 0
    is_query: bool = False


@dataclass(frozen=True)
class ScatterPlot:
    """Points in a plane whose axes have no unit."""

    stem: str
    title: str
    clouds: tuple[Cloud, ...]


@dataclass(frozen=True)
class HeatPlot:
    """A table of fractions, drawn as colours; None is empty."""

    stem: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class BarPlot:
    """Counts by name, the largest first."""

    stem: str
    title: str
    names: tuple[str, ...]
    counts: tuple[int, ...]


Plot: TypeAlias = LinePlot | HistogramPlot | ScatterPlot | HeatPlot | BarPlot
