"""Change brightness, contrast, saturation and hue by random amounts."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torchvision.transforms.v2 import functional as image_ops

from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_number, require_probability


class ColorJitter(ImageTransform):
    """Change brightness, contrast, saturation and hue, in random order, with a probability.

    With a factor f, uniform from max(0, 1 − amount) to 1 + amount:
    brightness is ``f·x``; contrast ``f·x + (1 − f)·m`` with m the mean grey of the image;
    saturation ``f·x + (1 − f)·g`` with g the grey of the pixel, .2989 R + .587 G + .114 B. The hue
    is turned by a share of the full circle, uniform from −hue to hue.

    Args:
        probability: 0..1.
        brightness: Amount, 0 or more; 0 leaves it as it is.
        contrast: Amount, 0 or more.
        saturation: Amount, 0 or more.
        hue: Share of the circle, 0..0.5.

    Raises:
        ConfigError: A value is outside its range.

    Source: torchvision's ``ColorJitter``; the defaults are FastReID's. Torchreid has probability
        1, brightness .2, contrast .15, and neither saturation nor hue.
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        brightness: float = 0.15,
        contrast: float = 0.15,
        saturation: float = 0.1,
        hue: float = 0.1,
    ) -> None:
        name = "color_jitter"
        self.probability = require_probability(probability, name)
        self.brightness = require_number(brightness, name, "brightness", 0)
        self.contrast = require_number(contrast, name, "contrast", 0)
        self.saturation = require_number(saturation, name, "saturation", 0)
        self.hue = require_number(hue, name, "hue", 0, 0.5)

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W) in other colours, or as it was."""
        if rng.random() >= self.probability:
            return image
        changes = (
            (image_ops.adjust_brightness, self.brightness, _factor(self.brightness, rng)),
            (image_ops.adjust_contrast, self.contrast, _factor(self.contrast, rng)),
            (image_ops.adjust_saturation, self.saturation, _factor(self.saturation, rng)),
            (image_ops.adjust_hue, self.hue, rng.uniform(-self.hue, self.hue)),
        )
        # In planes: the sums behind contrast would be added up in another order otherwise.
        changed = image.contiguous()
        for position in rng.permutation(len(changes)).tolist():
            change, amount, value = changes[position]
            if amount > 0:
                changed = change(changed, value)
        return changed


def _factor(amount: float, rng: np.random.Generator) -> float:
    return rng.uniform(max(0.0, 1 - amount), 1 + amount)
