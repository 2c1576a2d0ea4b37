"""Take the colours out of an image."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torchvision.transforms.v2 import functional as image_ops

from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability


class RandomGrayscale(ImageTransform):
    """Replace each channel by the grey .2989 R + .587 G + .114 B, with a probability.

    Args:
        probability: 0..1.

    Raises:
        ConfigError: ``probability`` is outside 0..1.
    """

    def __init__(self, *, probability: float = 0.1) -> None:
        self.probability = require_probability(probability, "random_grayscale")

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), grey or as it was."""
        if rng.random() >= self.probability:
            return image
        grey: Tensor = image_ops.rgb_to_grayscale(image, num_output_channels=3)
        return grey
