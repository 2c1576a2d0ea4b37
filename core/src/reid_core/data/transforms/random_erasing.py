"""Erase a rectangle of an image, so that no single part is relied on."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from reid_core.data.transforms.base import BatchTransform
from reid_core.data.transforms.checks import require_probability
from reid_core.errors import ConfigError

#: A rectangle that does not fit is drawn again this often; then the image stays whole.
_ATTEMPTS = 100


class RandomErasing(BatchTransform):
    """Set a random rectangle to the data set's mean colour, which is 0 once normalised.

    Args:
        probability: Probability that an image is erased, 0..1.
        area: Smallest and largest share of the image's area.
        aspect: Smallest and largest height-to-width ratio of the rectangle.

    Raises:
        ConfigError: A range is empty or outside what makes sense.

    Source: Zhong et al., Random Erasing Data Augmentation, AAAI 2020; the defaults are those of
        Luo et al., Bag of Tricks, 2019.
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        area: tuple[float, float] = (0.02, 0.4),
        aspect: tuple[float, float] = (0.3, 1 / 0.3),
    ) -> None:
        self.probability = require_probability(probability, "random_erasing")
        if not 0 < area[0] <= area[1] < 1:
            raise ConfigError(
                f"transform random_erasing: area is {area}; expected two shares of the "
                "image, 0 < low <= high < 1"
            )
        if not 0 < aspect[0] <= aspect[1] < math.inf:
            raise ConfigError(
                f"transform random_erasing: aspect is {aspect}; expected two ratios, "
                "0 < low <= high, both finite"
            )
        self.area = area
        self.aspect = aspect

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (B, 3, H, W), the same tensor with rectangles set to 0."""
        count, _, height, width = images.shape
        for row in np.flatnonzero(rng.random(count) < self.probability):
            box = self._draw(height, width, rng)
            if box:
                top, left, box_height, box_width = box
                images[int(row), :, top : top + box_height, left : left + box_width] = 0
        return images

    def _draw(
        self, height: int, width: int, rng: np.random.Generator
    ) -> tuple[int, int, int, int] | None:
        for _ in range(_ATTEMPTS):
            area = rng.uniform(*self.area) * height * width
            aspect = rng.uniform(*self.aspect)
            box_height = round(math.sqrt(area * aspect))
            box_width = round(math.sqrt(area / aspect))
            if 0 < box_height < height and 0 < box_width < width:
                top = int(rng.integers(0, height - box_height + 1))
                left = int(rng.integers(0, width - box_width + 1))
                return top, left, box_height, box_width
        return None
