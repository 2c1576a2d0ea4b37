"""Mirror an image left to right."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability


class RandomFlip(ImageTransform):
    """Mirror with a probability.

    Args:
        probability: 0..1.

    Raises:
        ConfigError: ``probability`` is outside 0..1.
    """

    def __init__(self, *, probability: float = 0.5) -> None:
        self.probability = require_probability(probability, "random_flip")

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), mirrored or as it was."""
        return image.flip(-1) if rng.random() < self.probability else image
