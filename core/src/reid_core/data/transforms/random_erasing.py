"""Erase a rectangle of an image, so that no single part is relied on."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, IMAGENET_STD
from reid_core.data.transforms.base import BatchTransform
from reid_core.data.transforms.checks import require_probability
from reid_core.data.transforms.rectangle import AspectDraw, Rectangle, RectangleDraw
from reid_core.errors import ConfigError

EraseFill = Literal["mean", "black", "random", "pixel"]

#: The share that stands for the whole image.
_WHOLE = (1.0, 1.0)


class RandomErasing(BatchTransform):
    """Overwrite a random rectangle.

    A rectangle that does not fit is drawn again; after ``attempts`` of them the image stays whole.

    Args:
        probability: Probability that an image is erased, 0..1.
        area: Smallest and largest share of the image's area, between 0 and 1. Both 1 erases the
            whole image, whatever ``aspect`` says.
        aspect: Smallest and largest height-to-width ratio of the rectangle.
        aspect_draw: ``uniform`` draws the ratio uniformly; ``log`` its logarithm, for which high
            and wide rectangles are equally likely.
        attempts: How often a rectangle is drawn at most, at least 1.
        fill: What is written. ``mean``: the data set's mean colour, which is 0 once normalised.
            ``black``: ``−mean / std``. ``random``: one colour a rectangle, each channel from a
            standard normal distribution. ``pixel``: such a colour for each pixel.
        image_mean: Mean of the channels as shares of white, with which images were normalised.
        image_std: Their standard deviations.

    Raises:
        ConfigError: A range is empty or outside what makes sense.

    Source: Zhong et al., Random Erasing Data Augmentation, AAAI 2020; the defaults are those of
        Luo et al., Bag of Tricks, 2019. FastReID: area [0.02, 0.33], aspect [0.3, 3.3],
        aspect_draw log, attempts 10. TransReID: area [0.02, 0.3333], aspect_draw log, attempts 10,
        fill pixel.
    """

    mixes_images = False

    def __init__(
        self,
        *,
        probability: float = 0.5,
        area: tuple[float, float] = (0.02, 0.4),
        aspect: tuple[float, float] = (0.3, 1 / 0.3),
        aspect_draw: AspectDraw = "uniform",
        attempts: int = 100,
        fill: EraseFill = "mean",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
        image_std: tuple[float, float, float] = IMAGENET_STD,
    ) -> None:
        self.probability = require_probability(probability, "random_erasing")
        if tuple(area) != _WHOLE and not 0 < area[0] <= area[1] < 1:
            raise ConfigError(
                f"transform random_erasing: area is {area}; expected two shares of the "
                "image, 0 < low <= high < 1, or 1 and 1 for the whole image"
            )
        if not 0 < aspect[0] <= aspect[1] < math.inf:
            raise ConfigError(
                f"transform random_erasing: aspect is {aspect}; expected two ratios, "
                "0 < low <= high, both finite"
            )
        if attempts < 1:
            raise ConfigError(
                f"transform random_erasing: attempts is {attempts}; expected at least 1"
            )
        self.area = area
        self.aspect = aspect
        self.fill = fill
        self._draw = RectangleDraw(area, aspect, aspect_draw, attempts)
        self._black = [-mean / std for mean, std in zip(image_mean, image_std, strict=True)]

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (B, 3, H, W), the same tensor with rectangles overwritten."""
        count, _, height, width = images.shape
        for row in np.flatnonzero(rng.random(count) < self.probability).tolist():
            box = self._box(height, width, rng)
            if box:
                self._erase(images[row, :, box.rows, box.columns], rng)
        return images

    def _box(self, height: int, width: int, rng: np.random.Generator) -> Rectangle | None:
        if tuple(self.area) == _WHOLE:
            return Rectangle(0, 0, height, width)
        return self._draw.draw(height, width, rng)

    def _erase(self, part: Tensor, rng: np.random.Generator) -> None:
        if self.fill == "mean":
            part.zero_()
        elif self.fill == "pixel":
            part.copy_(torch.from_numpy(rng.standard_normal(part.shape, dtype=np.float32)))
        else:
            colour = self._black if self.fill == "black" else rng.standard_normal(3).tolist()
            # Plain numbers: a tensor of them would have to be copied to the device first.
            for channel, value in enumerate(colour):
                part[channel].fill_(value)
