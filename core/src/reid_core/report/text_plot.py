"""A curve in letters, for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from reid_core.report.ticks import format_value

WIDTH, HEIGHT = 64, 12


def text_plot(
    values: Sequence[float],
    *,
    x_end: str,
    value_text: Callable[[float], str] = format_value,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> list[str]:
    """Draw a curve from 0 up to its highest value.

    Each column shows the lowest and the highest value of its part, and all between them, so that no
    drop is lost.

    Args:
        values: (N,) finite values of at least 0, N at least 1.
        x_end: What is written at the right end of the axis; the left end is 0.
        value_text: Writes the highest value.
        width: Columns of the drawing, at least 1.
        height: Lines of the drawing, at least 2.

    Returns:
        Lines of text, the axis last.
    """
    top = max(values) or 1.0
    columns = [_rows(part, top, height) for part in _parts(values, width)]
    label = value_text(top)
    lines = []
    for row in reversed(range(height)):
        drawn = "".join("*" if row in rows else " " for rows in columns).rstrip()
        name = label if row == height - 1 else "0" if row == 0 else ""
        lines.append(f"{name.rjust(len(label))} |{drawn}")
    lines.append(f"{' ' * len(label)} +{'-' * len(columns)}")
    lines.append(f"{' ' * len(label)}  0{x_end.rjust(len(columns) - 1)}")
    return lines


def _parts(values: Sequence[float], width: int) -> list[Sequence[float]]:
    count = len(values)
    if count <= width:
        # Short runs are drawn broad: a value fills several columns.
        return [values[column * count // width :][:1] for column in range(width)]
    edges = [column * count // width for column in range(width + 1)]
    return [values[start:end] for start, end in pairwise(edges)]


def _rows(part: Sequence[float], top: float, height: int) -> range:
    low, high = (round(value / top * (height - 1)) for value in (min(part), max(part)))
    return range(low, high + 1)
