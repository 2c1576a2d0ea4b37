"""The result of a learning-rate range test as files: CSV, SVG and PNG."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from reid_core.errors import UsageError
from reid_core.report.plots.png import draw_png
from reid_core.report.plots.records import Curve, LinePlot
from reid_core.report.plots.svg import draw_lines

if TYPE_CHECKING:
    from reid_core.engine.trial.find_lr import LrPoint

_STYLE = Markup(
    "<style>svg{{background:#fff;font-family:sans-serif}}.grid{{stroke:#d5dae0}}"
    ".axis{{stroke:#57606a}}.tick{{fill:#57606a;font-size:11px}}.mid{{text-anchor:middle}}"
    ".end{{text-anchor:end}}.curve{{fill:none;stroke-width:1.8}}.s0{{stroke:#b6c2cf}}"
    ".s1{{stroke:#0b57b7}}.dot{{stroke:none;fill:#b6c2cf}}.dot.s1{{fill:#0b57b7}}</style>"
).format()


def write_lr_range(folder: Path, points: Sequence[LrPoint], *, title: str) -> tuple[Path, ...]:
    """Write ``lr_finder.csv`` and ``.svg`` and, where matplotlib is installed, ``.png``.

    Args:
        folder: Where to; it is there.
        points: The steps of the test, at least 1.
        title: Heading of the plot.

    Returns:
        The files, sorted.

    Raises:
        UsageError: One cannot be written.
    """
    plot = _plot(points, title)
    files = {"lr_finder.csv": _csv(points), "lr_finder.svg": _svg(plot)}
    if importlib.util.find_spec("matplotlib") is not None:
        files["lr_finder.png"] = draw_png(plot)
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the plot cannot be written into {folder}: {error.strerror or error}; choose another "
            "folder by --output"
        ) from error
    return tuple(folder / name for name in sorted(files))


def _plot(points: Sequence[LrPoint], title: str) -> LinePlot:
    # Powers and not rates: the axis for rates has fewer decades than a test goes through.
    ceiling = _ceiling([point.smoothed for point in points])
    powers = tuple(math.log10(point.rate) for point in points)
    return LinePlot(
        stem="lr_finder",
        title=title,
        x_label="learning rate, as a power of ten",
        y_label="loss",
        curves=(
            Curve("loss", powers, _shown([point.loss for point in points], ceiling)),
            Curve("smoothed", powers, _shown([point.smoothed for point in points], ceiling)),
        ),
        holds_zero=False,
    )


def _ceiling(smoothed: Sequence[float]) -> float:
    """Return the highest value that is drawn: the fall would be flat beside the rise after it."""
    lowest = min(smoothed)
    fall = max(smoothed[: smoothed.index(lowest) + 1]) - lowest
    return lowest + max(3 * fall, 0.1 * abs(lowest))


def _shown(values: Sequence[float], ceiling: float) -> tuple[float, ...]:
    return tuple(value if value <= ceiling else math.nan for value in values)


def _csv(points: Sequence[LrPoint]) -> bytes:
    text = io.StringIO(newline="")
    rows = [("lr", "loss", "smoothed"), *((p.rate, p.loss, p.smoothed) for p in points)]
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _svg(plot: LinePlot) -> bytes:
    # On its own it has neither a style sheet nor a page that says what it is.
    document = str(draw_lines(plot))
    document = document.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{document.replace('<title>', f'{_STYLE}<title>', 1)}\n".encode()
