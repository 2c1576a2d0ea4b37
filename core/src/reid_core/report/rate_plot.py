"""The learning rate of a run as a file: SVG, HTML or PNG."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from markupsafe import Markup
from PIL import Image, ImageDraw

from reid_core.errors import UsageError
from reid_core.report.curves import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, draw_curves, fit_axes
from reid_core.report.records import Series
from reid_core.report.thinning import thin
from reid_core.report.ticks import format_step, format_value, nice_ticks

#: Endings of the files that can be written.
ENDINGS = (".svg", ".html", ".png")

_STYLE = Markup(
    "<style>svg{{background:#fff;font-family:sans-serif}}.grid{{stroke:#d5dae0}}"
    ".axis{{stroke:#57606a}}.tick{{fill:#57606a;font-size:11px}}.mid{{text-anchor:middle}}"
    ".end{{text-anchor:end}}.curve{{fill:none;stroke:#0b57b7;stroke-width:1.8}}"
    ".dot{{fill:#0b57b7}}</style>"
).format()
_PAGE = Markup(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    '<body style="font-family:sans-serif;max-width:60rem;margin:1rem auto"><h1>{title}</h1>'
    "<p>{text}</p>{svg}</body></html>\n"
)
#: Pixels of the PNG for each unit of the drawing.
_SCALE = 2.0


def write_rate_plot(
    path: Path, series: Series, *, title: str, text: str, epochs: Mapping[int, float]
) -> None:
    """Draw the learning rate over steps into a file.

    Args:
        path: Ends in one of ``ENDINGS``.
        series: The rate of every step.
        title: Heading of the page.
        text: A sentence below it.
        epochs: Epochs done by step, for the axis.

    Raises:
        UsageError: Another ending, or the file cannot be written.
    """
    require_ending(path)
    curve = thin(series)
    try:
        if path.suffix.lower() == ".png":
            _png(curve).save(path)
            return
        svg = draw_curves([curve], title=title, epochs=epochs)
        if path.suffix.lower() == ".svg":
            # On its own it has neither a style sheet nor a page that says what it is.
            document = str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
            document = document.replace("<title>", f"{_STYLE}<title>", 1)
            path.write_text(f"{document}\n", encoding="utf-8")
        else:
            page = _PAGE.format(title=title, text=text, svg=Markup("{}{}").format(_STYLE, svg))
            path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--plot {path} cannot be written: {error.strerror or error}") from error


def require_ending(path: Path) -> None:
    """Check that a file of that name can be drawn.

    Raises:
        UsageError: It has another ending.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"--plot {path}: expected a name that ends in {', '.join(ENDINGS)}")


def _png(series: Series) -> Image.Image:
    axes = fit_axes([series])
    size = (round(WIDTH * _SCALE), round(HEIGHT * _SCALE))
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for tick in axes.y_ticks:
        y = _SCALE * axes.y(tick)
        draw.line([_SCALE * LEFT, y, _SCALE * (WIDTH - RIGHT), y], fill="#d5dae0")
        draw.text((_SCALE * LEFT - 8, y), format_value(tick), fill="#57606a", anchor="rm")
    base = _SCALE * (HEIGHT - BOTTOM)
    for tick in nice_ticks(0.0, axes.x_high, target=4):
        if tick <= axes.x_high:
            x = _SCALE * axes.x(tick)
            draw.line([x, base, x, base + 8], fill="#57606a")
            draw.text((x, base + 12), format_step(tick), fill="#57606a", anchor="ma")
    draw.text((size[0] / 2, size[1] - 8), "optimiser steps", fill="#57606a", anchor="ms")
    points = [
        (_SCALE * axes.x(step), _SCALE * axes.y(value))
        for step, value in zip(series.steps, series.values, strict=True)
    ]
    for start, end in pairwise(points):
        draw.line([*start, *end], fill="#0b57b7", width=3)
    return image
