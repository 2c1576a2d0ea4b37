"""Cut the old size out of a padded image somewhere: a random shift."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from reid_core.data.colour import IMAGENET_MEAN, fill_colour
from reid_core.data.transforms.base import ImageTransform
from reid_core.errors import ConfigError

PadFill = Literal["black", "mean", "edge", "reflect", "symmetric"]


class PadCrop(ImageTransform):
    """Shift by up to ``padding`` pixels in each direction.

    Args:
        padding: Pixels added on every side before the crop, at least 1.
        fill: What they show. ``black`` and ``mean``, the data set's mean colour, are one colour;
            ``edge`` repeats the outermost pixels, ``reflect`` mirrors the image at them, and
            ``symmetric`` at its border, so that they are shown twice.
        image_mean: Mean of the channels as shares of white, 0..1.

    Raises:
        ConfigError: ``padding`` is less than 1.
    """

    def __init__(
        self,
        *,
        padding: int = 10,
        fill: PadFill = "black",
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        if padding < 1:
            raise ConfigError(f"transform pad_crop: padding is {padding}; expected at least 1")
        self.padding = padding
        self.fill = fill
        self._colour = fill_colour("mean", image_mean)

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (3, H, W), shifted."""
        top, left = rng.integers(0, 2 * self.padding + 1, size=2).tolist()
        down, right = self.padding - top, self.padding - left
        if self.fill == "black":
            return _paste(image, torch.zeros_like(image), down, right)
        if self.fill == "mean":
            colour = torch.tensor(self._colour, dtype=torch.uint8).view(3, 1, 1)
            return _paste(image, torch.empty_like(image).copy_(colour), down, right)
        rows, columns = (
            torch.from_numpy(self._sources(length, shift))
            for length, shift in zip(image.shape[-2:], (down, right), strict=True)
        )
        return image.index_select(1, rows).index_select(2, columns)

    def _sources(self, length: int, shift: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return for each row of the result the row of the image that it shows."""
        wanted = np.arange(length) - shift
        if self.fill == "edge":
            return wanted.clip(0, length - 1)
        # Both mirror images repeat: with the pixels at their ends shown once, or twice.
        if self.fill == "reflect":
            period = max(1, 2 * length - 2)
            folded = wanted % period
            return np.minimum(folded, period - folded)
        folded = wanted % (2 * length)
        return np.minimum(folded, 2 * length - 1 - folded)


def _paste(image: Tensor, canvas: Tensor, down: int, right: int) -> Tensor:
    """Copy ``image`` onto ``canvas`` of its size, shifted; what falls off is lost."""
    height, width = image.shape[-2:]
    rows, columns = height - abs(down), width - abs(right)
    if rows <= 0 or columns <= 0:
        return canvas
    top, left = max(down, 0), max(right, 0)
    from_top, from_left = max(-down, 0), max(-right, 0)
    # Through numpy: a small copy of torch costs twice as long.
    target, source = canvas.numpy(), image.numpy()
    target[:, top : top + rows, left : left + columns] = source[
        :, from_top : from_top + rows, from_left : from_left + columns
    ]
    return canvas
