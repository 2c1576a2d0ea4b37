"""Fewer points for the same picture."""

from __future__ import annotations

import math

from reid_core.report.records import Series

#: A chart is about 300 units wide: more points than this cannot be told apart.
MAX_POINTS = 400


def thin(series: Series, *, max_points: int = MAX_POINTS) -> Series:
    """Thin a curve but keep what the eye looks for: both ends, peaks, dips and gaps.

    The points are cut into runs of equal length, and each run gives its lowest, its highest and
    its first value that is not finite. A running mean would hide a loss that jumped once.

    Args:
        series: A curve of any length.
        max_points: At least 5; a curve that is not longer is returned as it is.

    Returns:
        A curve of at most ``max_points`` points, each of which is in ``series``.
    """
    if len(series) <= max_points:
        return series
    num_runs = (max_points - 2) // 3
    run_length = math.ceil(len(series) / num_runs)
    kept = {0, len(series) - 1}
    for start in range(0, len(series), run_length):
        kept |= _landmarks(series.values, range(start, min(start + run_length, len(series))))
    rows = sorted(kept)
    return Series(
        series.name,
        tuple(series.steps[row] for row in rows),
        tuple(series.values[row] for row in rows),
    )


def _landmarks(values: tuple[float, ...], rows: range) -> set[int]:
    finite = [row for row in rows if math.isfinite(values[row])]
    landmarks = {row for row in rows if not math.isfinite(values[row])}
    found = {min(landmarks)} if landmarks else set()
    if finite:
        found |= {min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)}
    return found
