"""Cut a part out of an image and bring it to the size of the whole."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reid_core.data.resize import Interpolation, Resize
from reid_core.data.transforms.base import ImageTransform
from reid_core.data.transforms.checks import require_probability, require_range
from reid_core.data.transforms.rectangle import Rectangle, RectangleDraw


class RandomResizedCrop(ImageTransform):
    """Cut out a random rectangle, and stretch it to the size of the image.

    The logarithm of the aspect ratio is uniform. After ten rectangles that do not fit, the
    largest one in the middle is taken whose aspect ratio is allowed.

    Args:
        probability: 0..1.
        area: Smallest and largest share of the image's area, above 0, at most 1.
        aspect: Smallest and largest height-to-width ratio of the rectangle, above 0.
        interpolation: Filter of the resize.

    Raises:
        ConfigError: A range is empty or outside its bounds.

    Source: Szegedy et al., Going Deeper with Convolutions, CVPR 2015, section 6; the defaults are
        FastReID's.
    """

    def __init__(
        self,
        *,
        probability: float = 1.0,
        area: tuple[float, float] = (0.16, 1.0),
        aspect: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: Interpolation = "bilinear",
    ) -> None:
        name = "random_resized_crop"
        self.probability = require_probability(probability, name)
        self.area = require_range(area, name, "area", high=1)
        self.aspect = require_range(aspect, name, "aspect")
        self.interpolation: Interpolation = interpolation
        self._draw = RectangleDraw(area, aspect, "log", attempts=10, may_fill=True)

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), a part of it or the image as it was."""
        if rng.random() >= self.probability:
            return image
        height, width = image.shape[-2:]
        box = self._draw.draw(height, width, rng) or self._central(height, width)
        resize = Resize(image_size=(height, width), interpolation=self.interpolation)
        return resize(image[:, box.rows, box.columns])

    def _central(self, height: int, width: int) -> Rectangle:
        low, high = self.aspect
        rows = min(height, round(width * high))
        columns = min(width, round(height / low))
        return Rectangle((height - rows) // 2, (width - columns) // 2, rows, columns)
