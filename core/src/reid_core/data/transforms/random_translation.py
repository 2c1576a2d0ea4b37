"""Enlarge an image a little and cut the old size out of it somewhere."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.resize import Interpolation, Resize
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability

#: An image grows by one eighth on both axes.
_FACTOR = 1.125


class RandomTranslation(ImageTransform):
    """Resize to 9/8 of both sides, and cut the old size out of it, with a probability.

    The corner is ``round(u)`` with u uniform from 0 to the surplus, so that the outermost
    positions are half as likely as the others.

    Args:
        probability: 0..1.
        interpolation: Filter of the resize.

    Raises:
        ConfigError: ``probability`` is outside 0..1.

    Source: ``Random2DTranslation`` (called ``random_crop`` in its recipes) of Zhou and Xiang,
        Torchreid, 2019. There the original image is enlarged; here it was brought to the
        network's size before.
    """

    def __init__(
        self, *, probability: float = 0.5, interpolation: Interpolation = "bilinear"
    ) -> None:
        self.probability = require_probability(probability, "random_translation")
        self.interpolation: Interpolation = interpolation

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), enlarged and cut, or as it was."""
        if rng.random() >= self.probability:
            return image
        height, width = image.shape[-2:]
        enlarged = (round(height * _FACTOR), round(width * _FACTOR))
        resize = Resize(image_size=enlarged, interpolation=self.interpolation)
        top = round(rng.uniform(0, enlarged[0] - height))
        left = round(rng.uniform(0, enlarged[1] - width))
        return resize(image)[:, top : top + height, left : left + width]
