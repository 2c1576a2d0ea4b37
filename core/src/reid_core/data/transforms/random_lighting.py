"""Change the light along the colours in which natural images vary."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.colour import IMAGENET_STD
from reid_core.data.transforms.base import BatchTransform
from reid_core.data.transforms.checks import require_number, require_probability

#: Principal components of ImageNet's colours (red, green, blue a row) and their eigenvalues.
_VECTORS = np.array(
    [
        [-0.5675, -0.5808, -0.5836],
        [0.7192, -0.0045, -0.6948],
        [0.4009, -0.8140, 0.4203],
    ]
)
_VALUES = np.array([0.2175, 0.0188, 0.0045])


class RandomLighting(BatchTransform):
    """Add one colour to all pixels of an image, with a probability.

    The colour is ``Σᵢ αᵢ λᵢ vᵢ``, a share of white, with the eigenvalues λ and eigenvectors v of
    ImageNet's colours and α from a normal distribution; nothing is clipped.

    Args:
        probability: 0..1.
        strength: Standard deviation of α, 0 or more.
        image_std: Standard deviations of the channels as shares of white, with which images were
            normalised.

    Raises:
        ConfigError: A value is outside its range.

    Source: Krizhevsky et al., ImageNet Classification, NeurIPS 2012, section 4.1.
        ``ColorAugmentation`` of Torchreid multiplies with the transposed eigenvectors, in another
        order; this is the paper's formula.
    """

    mixes_images = False

    def __init__(
        self,
        *,
        probability: float = 0.5,
        strength: float = 0.1,
        image_std: tuple[float, float, float] = IMAGENET_STD,
    ) -> None:
        self.probability = require_probability(probability, "random_lighting")
        self.strength = require_number(strength, "random_lighting", "strength", 0)
        self._std = np.array(image_std)

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (B, 3, H, W), the same tensor with colours added."""
        count = len(images)
        is_lit = rng.random(count) < self.probability
        alpha = rng.normal(0, self.strength, (count, 3))
        colours = (alpha * _VALUES) @ _VECTORS / self._std
        for row in np.flatnonzero(is_lit).tolist():
            for channel, value in enumerate(colours[row].tolist()):
                images[row, channel].add_(value)
        return images
