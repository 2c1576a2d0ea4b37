"""A learned policy: one of 25 pairs of operations for each image."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, Fill, fill_colour
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability
from reid_core.data.transforms.policies import PolicyName, policy_of
from reid_core.data.transforms.policy_ops import SIGNED_OPS, apply_op, magnitude_of
from reid_core.data.transforms.warp import Warp, WarpFilter


class AutoAugment(ImageTransform):
    """Apply a pair of operations of a learned policy, with a probability.

    Each operation of the pair has a probability and a level of its own; the direction, of an
    operation that has one, is drawn.

    Args:
        probability: That the policy is applied to an image, 0..1.
        policy: The data set that it was learned on.
        interpolation: Filter of the operations that move pixels.
        fill: Colour of what they bring in.
        image_mean: Mean of the channels as shares of white, 0..1.

    Raises:
        ConfigError: ``probability`` is outside 0..1.

    Source: Cubuk et al., AutoAugment, CVPR 2019; with torchvision's operations. The default
        probability is that of FastReID's SBS recipe, which augments the original image; here it
        was brought to the network's size before.
    """

    def __init__(
        self,
        *,
        probability: float = 0.1,
        policy: PolicyName = "imagenet",
        interpolation: WarpFilter = "nearest",
        fill: Fill = "black",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        self.probability = require_probability(probability, "auto_augment")
        self._pairs = policy_of(policy)
        self._warp = Warp(interpolation, fill_colour(fill, image_mean))

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), augmented or as it was."""
        if rng.random() >= self.probability:
            return image
        height, width = image.shape[-2:]
        for op, probability, level in self._pairs[rng.integers(len(self._pairs))]:
            is_applied, is_reversed = rng.random(2) < (probability, 0.5)
            if is_applied:
                magnitude = magnitude_of(op, level / 9, height, width)
                sign = -1 if is_reversed and op in SIGNED_OPS else 1
                image = apply_op(image, op, sign * magnitude, self._warp)
        return image
