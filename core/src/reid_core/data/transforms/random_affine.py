"""Turn, shift, scale and shear an image."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, Fill, fill_colour
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_number, require_probability, require_range
from reid_core.data.transforms.warp import Warp, WarpFilter


class RandomAffine(ImageTransform):
    """Map an image by a random affine map around its middle, with a probability.

    Angle, scale and shear are uniform; the shift is uniform and rounded to whole pixels.

    Args:
        probability: 0..1.
        degrees: Largest angle either way, 0..180.
        translate: Largest shift either way, to the side and up or down, as a share of width and
            height; 0..1 each.
        scale: Smallest and largest factor, above 0.
        shear: Largest shear along x either way, in degrees, 0..89.
        interpolation: Filter.
        fill: Colour of what comes in at the edges.
        image_mean: Mean of the channels as shares of white, 0..1.

    Raises:
        ConfigError: A value is outside its range.

    Source: torchvision's ``RandomAffine``; the defaults are FastReID's, whose shear of 0.1 is in
        degrees, and hardly seen.
    """

    def __init__(
        self,
        *,
        probability: float = 1.0,
        degrees: float = 10.0,
        translate: tuple[float, float] = (0.0, 0.0),
        scale: tuple[float, float] = (0.9, 1.1),
        shear: float = 0.1,
        interpolation: WarpFilter = "nearest",
        fill: Fill = "black",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        name = "random_affine"
        self.probability = require_probability(probability, name)
        self.degrees = require_number(degrees, name, "degrees", 0, 180)
        for share in translate:
            require_number(share, name, "translate", 0, 1)
        self.translate = translate
        self.scale = require_range(scale, name, "scale")
        self.shear = require_number(shear, name, "shear", 0, 89)
        self._warp = Warp(interpolation, fill_colour(fill, image_mean))

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), mapped, or as it was."""
        if rng.random() >= self.probability:
            return image
        height, width = image.shape[-2:]
        reach = (self.translate[0] * width, self.translate[1] * height)
        angle = rng.uniform(-self.degrees, self.degrees)
        right, down = (round(rng.uniform(-pixels, pixels)) for pixels in reach)
        scale = rng.uniform(*self.scale)
        shear = rng.uniform(-self.shear, self.shear)
        return self._warp(
            image, angle=angle, translate=(right, down), scale=scale, shear=(shear, 0.0)
        )
