"""Lose detail as a camera's compression does."""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability
from reid_core.errors import ConfigError


class JpegCompression(ImageTransform):
    """Write an image as JPEG of a random quality and read it again, with a probability.

    Args:
        probability: 0..1.
        quality: Lowest and highest quality, 1..100; whole numbers, uniform between them, both
            included.

    Raises:
        ConfigError: A value is outside its range.
    """

    def __init__(self, *, probability: float = 0.5, quality: tuple[int, int] = (30, 95)) -> None:
        self.probability = require_probability(probability, "jpeg_compression")
        if not 1 <= quality[0] <= quality[1] <= 100:
            raise ConfigError(
                f"transform jpeg_compression: quality is {quality}; expected two whole numbers, "
                "1 <= low <= high <= 100"
            )
        self.quality = quality

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), compressed or as it was."""
        if rng.random() >= self.probability:
            return image
        quality = int(rng.integers(self.quality[0], self.quality[1] + 1))
        file = io.BytesIO()
        pixels = np.ascontiguousarray(image.permute(1, 2, 0).numpy())
        Image.fromarray(pixels).save(file, format="JPEG", quality=quality)
        with Image.open(file) as opened:
            return torch.from_numpy(np.array(opened)).permute(2, 0, 1)
