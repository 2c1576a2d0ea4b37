"""Pad with black and cut the old size out of it somewhere: a random shift."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from reid_core.data.transforms.base import ImageTransform
from reid_core.errors import ConfigError


class PadCrop(ImageTransform):
    """Shift by up to ``padding`` pixels in each direction; black comes in at the edges.

    Args:
        padding: Pixels added on every side before the crop, at least 1.

    Raises:
        ConfigError: ``padding`` is less than 1.
    """

    def __init__(self, *, padding: int = 10) -> None:
        if padding < 1:
            raise ConfigError(f"transform pad_crop: padding is {padding}; expected at least 1")
        self.padding = padding

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), shifted."""
        height, width = image.shape[-2:]
        top, left = rng.integers(0, 2 * self.padding + 1, size=2).tolist()
        padded = F.pad(image, (self.padding,) * 4)
        return padded[:, top : top + height, left : left + width].contiguous()
