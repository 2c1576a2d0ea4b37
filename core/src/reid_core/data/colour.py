"""Colours that stand for nothing: what is shown where an image has no pixel."""

from __future__ import annotations

from typing import Literal

Fill = Literal["black", "mean"]

#: ImageNet's channel statistics, as shares of white: what a configuration has by default.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def fill_colour(fill: Fill, mean: tuple[float, float, float]) -> tuple[int, int, int]:
    """Return a colour as red, green and blue, 0..255.

    Args:
        fill: Its name.
        mean: Mean of the data set's channels as shares of white; rounded to 8 bits.
    """
    if fill == "black":
        return 0, 0, 0
    red, green, blue = (min(255, max(0, round(255 * channel))) for channel in mean)
    return red, green, blue
