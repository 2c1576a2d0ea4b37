"""Random operations of one magnitude."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, Fill, fill_colour
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_number, require_probability
from reid_core.data.transforms.policy_ops import IMAGE_OPS, SIGNED_OPS, apply_op, magnitude_of
from reid_core.data.transforms.warp import Warp, WarpFilter
from reid_core.errors import ConfigError

#: Every operation but the inversion, which RandAugment leaves out.
OPS = tuple(op for op in IMAGE_OPS if op != "invert")


class RandAugment(ImageTransform):
    """Apply some operations, each drawn from 14, with a probability.

    Args:
        probability: That an image is augmented, 0..1.
        num_ops: Operations an image, at least 1; one may come twice.
        magnitude: Their level, 0..30.
        interpolation: Filter of the operations that move pixels.
        fill: Colour of what they bring in.
        image_mean: Mean of the channels as shares of white, 0..1.

    Raises:
        ConfigError: A value is outside its range.

    Source: Cubuk et al., RandAugment, NeurIPS 2020; with torchvision's operations and defaults.
    """

    def __init__(
        self,
        *,
        probability: float = 1.0,
        num_ops: int = 2,
        magnitude: float = 9.0,
        interpolation: WarpFilter = "nearest",
        fill: Fill = "black",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        self.probability = require_probability(probability, "rand_augment")
        if num_ops < 1:
            raise ConfigError(f"transform rand_augment: num_ops is {num_ops}; expected at least 1")
        self.num_ops = num_ops
        self.magnitude = require_number(magnitude, "rand_augment", "magnitude", 0, 30)
        self._warp = Warp(interpolation, fill_colour(fill, image_mean))

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), augmented or as it was."""
        if rng.random() >= self.probability:
            return image
        height, width = image.shape[-2:]
        for position in rng.integers(len(OPS), size=self.num_ops).tolist():
            op = OPS[position]
            magnitude = magnitude_of(op, self.magnitude / 30, height, width)
            sign = -1 if rng.random() < 0.5 and op in SIGNED_OPS else 1
            image = apply_op(image, op, sign * magnitude, self._warp)
        return image
