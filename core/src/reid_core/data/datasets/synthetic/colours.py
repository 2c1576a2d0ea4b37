"""The colours people and places come in, as (red, green, blue) in 0..255."""

from __future__ import annotations

from typing import TypeAlias

from reid_core.data.datasets.synthetic.streams import Stream

Colour: TypeAlias = tuple[int, int, int]

SKIN: tuple[Colour, ...] = (
    (244, 208, 182),
    (228, 184, 150),
    (200, 150, 114),
    (160, 112, 80),
    (116, 78, 54),
    (84, 56, 42),
)
HAIR: tuple[Colour, ...] = (
    (30, 26, 26),
    (70, 46, 32),
    (122, 80, 46),
    (206, 166, 98),
    (158, 70, 38),
    (176, 176, 178),
)
CLOTHES: tuple[Colour, ...] = (
    (40, 42, 50),
    (236, 236, 232),
    (136, 138, 142),
    (186, 40, 44),
    (226, 122, 38),
    (232, 202, 66),
    (60, 138, 68),
    (44, 150, 150),
    (70, 138, 210),
    (36, 58, 122),
    (120, 66, 150),
    (222, 126, 164),
    (122, 78, 48),
    (198, 172, 132),
)


def dye(stream: Stream, colour: Colour, spread: int = 14) -> Colour:
    """Return ``colour`` with each channel moved by up to ``spread``."""
    red, green, blue = (
        max(0, min(255, value + stream.integer(-spread, spread))) for value in colour
    )
    return red, green, blue


def clothes_colour(stream: Stream, unlike: Colour | None = None) -> Colour:
    """Return a colour for a garment that can be told from ``unlike``."""
    while True:
        colour = dye(stream, stream.choice(CLOTHES))
        if unlike is None or distance(colour, unlike) >= 110:
            return colour


def distance(one: Colour, other: Colour) -> int:
    """Return the sum of the channels' absolute differences, 0..765."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def darker(colour: Colour, percent: int) -> Colour:
    """Return ``colour`` at ``percent`` of its brightness."""
    red, green, blue = colour
    return red * percent // 100, green * percent // 100, blue * percent // 100
