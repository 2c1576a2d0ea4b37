"""A mixture of an image and of several chains of operations on it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, Fill, fill_colour
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_number, require_probability
from reid_core.data.transforms.policy_ops import SIGNED_OPS, ImageOp, apply_op
from reid_core.data.transforms.warp import Warp, WarpFilter
from reid_core.errors import ConfigError

#: The operations of the paper: none that its test of robustness contains.
OPS: tuple[ImageOp, ...] = (
    "auto_contrast",
    "equalize",
    "posterize",
    "rotate",
    "solarize",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
)

#: Chains of random length have 1 to this many operations.
_LONGEST = 3


class AugMix(ImageTransform):
    """Mix an image x with ``width`` chains of operations on it, with a probability.

    The result is ``(1 − m) x + m Σᵢ wᵢ chainᵢ(x)`` with w from a Dirichlet distribution and m from
    a Beta distribution, all of whose parameters are ``alpha``; it is rounded to 8 bits.

    Args:
        probability: 0..1.
        severity: Upper bound of the level of an operation, which is uniform from 0.1 to it;
            0.1..10.
        width: Chains, at least 1.
        depth: Operations a chain, at least 1; None draws 1, 2 or 3 for each.
        alpha: Above 0; a small one makes most mixtures nearly one of their parts.
        interpolation: Filter of the operations that move pixels.
        fill: Colour of what they bring in.
        image_mean: Mean of the channels as shares of white, 0..1.

    Raises:
        ConfigError: A value is outside its range.

    Source: Hendrycks et al., AugMix, ICLR 2020, without its consistency loss; the defaults are
        FastReID's. The paper has severity 3, depth null and alpha 1.
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        severity: float = 1.0,
        width: int = 3,
        depth: int | None = 1,
        alpha: float = 0.1,
        interpolation: WarpFilter = "bilinear",
        fill: Fill = "black",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        self.probability = require_probability(probability, "aug_mix")
        self.severity = require_number(severity, "aug_mix", "severity", 0.1, 10)
        # Below it the draws of the distributions are no numbers.
        self.alpha = require_number(alpha, "aug_mix", "alpha", 1e-3)
        for parameter, value in (("width", width), ("depth", depth)):
            if value is not None and value < 1:
                raise ConfigError(f"transform aug_mix: {parameter} is {value}; expected at least 1")
        self.width = width
        self.depth = depth
        self._warp = Warp(interpolation, fill_colour(fill, image_mean))

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), a mixture or the image as it was."""
        if rng.random() >= self.probability:
            return image
        weights = rng.dirichlet([self.alpha] * self.width).tolist()
        share = float(rng.beta(self.alpha, self.alpha))
        mixed = image.to(torch.float32) * (1 - share)
        for weight in weights:
            mixed += self._chain(image, rng).to(torch.float32) * (share * weight)
        return mixed.round_().clamp_(0, 255).to(torch.uint8)

    def _chain(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        height, width = image.shape[-2:]
        depth = self.depth or int(rng.integers(1, _LONGEST + 1))
        for position in rng.integers(len(OPS), size=depth).tolist():
            op = OPS[position]
            magnitude = magnitude_of(op, rng.uniform(0.1, self.severity), height, width)
            sign = -1 if rng.random() < 0.5 and op in SIGNED_OPS else 1
            image = apply_op(image, op, sign * magnitude, self._warp)
        return image


def magnitude_of(op: ImageOp, level: float, height: int, width: int) -> float:
    """Return the magnitude of an operation at a level, 0..10, as AugMix scales it.

    Shears reach a slope of .3; all others are whole numbers: pixels up to a third of the side,
    degrees up to 30, bits from 4 down, and for solarize a threshold from 256 down.

    Args:
        op: The operation.
        level: 0..10.
        height: Of the image, in pixels.
        width: Of the image, in pixels.
    """
    share = level / 10
    if op in ("shear_x", "shear_y"):
        return 0.3 * share
    if op == "translate_x":
        return int(width / 3 * share)
    if op == "translate_y":
        return int(height / 3 * share)
    if op == "rotate":
        return int(30 * share)
    if op == "posterize":
        return 4 - int(4 * share)
    # Level 0.1 takes 2 off; the operation itself knows no threshold above 255.
    return min(255, 256 - int(256 * share))
