"""Random rectangles, as erasing, pasting and cropping need them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

AspectDraw = Literal["uniform", "log"]


class Rectangle(NamedTuple):
    """A part of an image.

    Args:
        top: First row.
        left: First column.
        height: Rows.
        width: Columns.
    """

    top: int
    left: int
    height: int
    width: int

    @property
    def rows(self) -> slice:
        """The rows that it covers."""
        return slice(self.top, self.top + self.height)

    @property
    def columns(self) -> slice:
        """The columns that it covers."""
        return slice(self.left, self.left + self.width)


@dataclass(frozen=True)
class RectangleDraw:
    """How the size of a rectangle is drawn.

    Args:
        area: Smallest and largest share of the image's area; uniform between them.
        aspect: Smallest and largest height-to-width ratio.
        aspect_draw: ``uniform`` draws the ratio uniformly, ``log`` its logarithm, for which high
            and wide rectangles are equally likely.
        attempts: How often a rectangle that does not fit is drawn again.
        may_fill: Whether a side may be as long as the image's.
    """

    area: tuple[float, float]
    aspect: tuple[float, float]
    aspect_draw: AspectDraw = "uniform"
    attempts: int = 100
    may_fill: bool = False

    def draw(self, height: int, width: int, rng: np.random.Generator) -> Rectangle | None:
        """Return a rectangle within an image of ``height`` and ``width``; None where none fits."""
        slack = 1 if self.may_fill else 0
        for _ in range(self.attempts):
            area = rng.uniform(*self.area) * height * width
            aspect = self._aspect(rng)
            rows, columns = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < rows < height + slack and 0 < columns < width + slack:
                return place(rows, columns, height, width, rng)
        return None

    def _aspect(self, rng: np.random.Generator) -> float:
        low, high = self.aspect
        if self.aspect_draw == "log":
            return math.exp(rng.uniform(math.log(low), math.log(high)))
        return rng.uniform(low, high)


def place(rows: int, columns: int, height: int, width: int, rng: np.random.Generator) -> Rectangle:
    """Return a rectangle of ``rows`` × ``columns`` anywhere in ``height`` × ``width``."""
    top = int(rng.integers(0, height - rows + 1))
    left = int(rng.integers(0, width - columns + 1))
    return Rectangle(top, left, rows, columns)
