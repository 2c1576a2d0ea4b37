"""Shapes on a grid of pixels, in whole numbers only.

Coordinates are in units of an eighth of a pixel of the finished image, x to the right and y
downwards. The canvas has twice the finished resolution; halving it smooths the edges. No
floating point is used, so that the pixels are the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.colours import Colour
from reid_core.data.datasets.synthetic.people import Pattern

#: Units in a pixel of the finished image, and in a pixel of the canvas.
UNITS = 8
CELL = 4

Point = tuple[int, int]
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Paint:
    """What a shape is filled with.

    Args:
        colour: The main colour.
        trim: The colour of the pattern.
        pattern: What is printed.
        period: Width of the pattern's repeat in units.
        depth: How much darker the right side is than the left, in 1/256.
    """

    colour: Colour
    trim: Colour = (0, 0, 0)
    pattern: Pattern = "plain"
    period: int = 64
    depth: int = 64


class Canvas:
    """An image in the making.

    Args:
        pixels: (2 H, 2 W, 3) uint8 background, drawn over in place.
    """

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.pixels = pixels

    def limb(self, start: Point, end: Point, radii: tuple[int, int], paint: Paint) -> None:
        """Fill a rounded bar from ``start`` to ``end`` whose radius goes from one to the other."""
        widest = max(radii)
        box = self._box(
            min(start[0], end[0]) - widest,
            max(start[0], end[0]) + widest,
            min(start[1], end[1]) - widest,
            max(start[1], end[1]) + widest,
        )
        if box is None:
            return
        rows, columns, x, y = box
        dx, dy = end[0] - start[0], end[1] - start[1]
        px, py = x - start[0], y - start[1]
        length = max(1, dx * dx + dy * dy)
        along = np.clip(((px * dx + py * dy) * 256) // length, 0, 256)
        off_x, off_y = px - ((along * dx) >> 8), py - ((along * dy) >> 8)
        radius = radii[0] + (((radii[1] - radii[0]) * along) >> 8)
        inside = off_x * off_x + off_y * off_y <= radius * radius
        self._fill(rows, columns, inside, py, np.clip((off_x * 256) // widest, -256, 256), paint)

    def ellipse(self, centre: Point, radii: Point, paint: Paint) -> None:
        """Fill an ellipse with the given half axes."""
        rx, ry = radii
        box = self._box(centre[0] - rx, centre[0] + rx, centre[1] - ry, centre[1] + ry)
        if box is None:
            return
        rows, columns, x, y = box
        across, down = ((x - centre[0]) * 256) // rx, ((y - centre[1]) * 256) // ry
        inside = across * across + down * down <= 256 * 256
        self._fill(rows, columns, inside, y - centre[1] + ry, across + 0 * y, paint)

    def trapezoid(
        self, top: Point, bottom: Point, half_widths: tuple[int, int], paint: Paint, bevel: int = 0
    ) -> None:
        """Fill between two horizontal edges, whose middles are ``top`` and ``bottom``.

        Args:
            top: Middle of the upper edge.
            bottom: Middle of the lower edge.
            half_widths: Half the length of the upper and of the lower edge.
            paint: What to fill with.
            bevel: How much of the upper corners is cut off.
        """
        widest = max(half_widths)
        left, right = min(top[0], bottom[0]) - widest, max(top[0], bottom[0]) + widest
        box = self._box(left, right, top[1], bottom[1])
        if box is None:
            return
        rows, columns, x, y = box
        down = y - top[1]
        height = max(1, bottom[1] - top[1])
        middle = top[0] + ((bottom[0] - top[0]) * down) // height
        half = half_widths[0] + ((half_widths[1] - half_widths[0]) * down) // height
        half = np.maximum(1, half - np.maximum(0, bevel - down))
        across = ((x - middle) * 256) // half
        inside = (np.abs(across) <= 256) & (down >= 0) & (down <= height)
        self._fill(rows, columns, inside, down, np.clip(across, -256, 256), paint)

    def shade(self, centre: Point, radii: Point, keep: int) -> None:
        """Darken an ellipse to ``keep``/256 of its brightness."""
        box = self._box(
            centre[0] - radii[0], centre[0] + radii[0], centre[1] - radii[1], centre[1] + radii[1]
        )
        if box is None:
            return
        rows, columns, x, y = box
        across, down = ((x - centre[0]) * 256) // radii[0], ((y - centre[1]) * 256) // radii[1]
        inside = across * across + down * down <= 256 * 256
        patch = self.pixels[rows, columns]
        patch[inside] = (patch[inside].astype(np.int32) * keep >> 8).astype(np.uint8)

    def halved(self) -> Ints:
        """Return the finished image (H, W, 3) int32, each pixel the mean of four."""
        wide = self.pixels.astype(np.int32)
        return (wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2] + 2) >> 2

    def _box(
        self, left: int, right: int, top: int, bottom: int
    ) -> tuple[slice, slice, Ints, Ints] | None:
        """Return the cells a shape may touch and the units of their centres, or None."""
        height, width = self.pixels.shape[:2]
        x0, x1 = max(0, left // CELL), min(width, right // CELL + 1)
        y0, y1 = max(0, top // CELL), min(height, bottom // CELL + 1)
        if x0 >= x1 or y0 >= y1:
            return None
        x = np.arange(x0, x1, dtype=np.int32)[None, :] * CELL + CELL // 2
        y = np.arange(y0, y1, dtype=np.int32)[:, None] * CELL + CELL // 2
        return slice(y0, y1), slice(x0, x1), x, y

    def _fill(
        self, rows: slice, columns: slice, inside: Mask, down: Ints, across: Ints, paint: Paint
    ) -> None:
        colours = np.array((paint.colour, paint.trim), dtype=np.int32)
        printed = _printed(paint, down, across)
        base = colours[0] if printed is None else colours[printed.astype(np.intp)]
        light = 272 - (((across + 256) * paint.depth) >> 9)
        lit = np.minimum((base * light[..., None]) >> 8, 255).astype(np.uint8)
        np.copyto(self.pixels[rows, columns], lit, where=inside[..., None])


def _printed(paint: Paint, down: Ints, across: Ints) -> Mask | None:
    """Return where the pattern shows; ``across`` is in 1/256 of the half width."""
    half = paint.period // 2
    if paint.pattern == "plain":
        return None
    if paint.pattern == "stripes":
        return np.broadcast_to(down % paint.period < half, across.shape)
    columns = ((across + 256) * 96 // 256) % paint.period < half
    if paint.pattern == "pinstripes":
        return columns
    if paint.pattern == "checks":
        return columns ^ (down % paint.period < half)
    if paint.pattern == "band":
        return np.broadcast_to((down >= 80) & (down < 80 + paint.period + 24), across.shape)
    return (np.abs(across) < 110) & (down > 72) & (down < 72 + paint.period + 16)
