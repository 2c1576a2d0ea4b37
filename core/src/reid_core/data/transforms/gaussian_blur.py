"""Blur an image."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torchvision.transforms.v2 import functional as image_ops

from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability, require_range
from reid_core.errors import ConfigError


class GaussianBlur(ImageTransform):
    """Blur with a Gaussian kernel, with a probability; the border is mirrored.

    Args:
        probability: 0..1.
        kernel_size: Side of the kernel in pixels, odd, at least 3.
        sigma: Smallest and largest standard deviation in pixels, above 0; uniform between them.
        image_size: Height and width in pixels.

    Raises:
        ConfigError: A value is outside its range.

    Source: Chen et al., A Simple Framework for Contrastive Learning, ICML 2020, appendix A.
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        kernel_size: int = 5,
        sigma: tuple[float, float] = (0.1, 2.0),
        image_size: tuple[int, int] = (256, 128),
    ) -> None:
        self.probability = require_probability(probability, "gaussian_blur")
        if kernel_size < 3 or kernel_size % 2 == 0:
            raise ConfigError(
                f"transform gaussian_blur: kernel_size is {kernel_size}; expected an odd number, "
                "at least 3"
            )
        self.kernel_size = kernel_size
        if kernel_size // 2 >= min(image_size):
            raise ConfigError(
                f"transform gaussian_blur: kernel_size is {kernel_size}, more than images of "
                f"{image_size[0]} × {image_size[1]} pixels can mirror"
            )
        self.sigma = require_range(sigma, "gaussian_blur", "sigma")

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), blurred or as it was."""
        if rng.random() >= self.probability:
            return image
        sigma = rng.uniform(*self.sigma)
        blurred: Tensor = image_ops.gaussian_blur(
            image.contiguous(), [self.kernel_size, self.kernel_size], [sigma, sigma]
        )
        return blurred
