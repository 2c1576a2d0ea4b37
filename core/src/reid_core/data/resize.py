"""The one way in which images come to the size of the network, in training and evaluation."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torchvision.transforms.v2.functional import InterpolationMode, resize_image

from reid_core.data.colour import IMAGENET_MEAN, fill_colour

Interpolation = Literal["bilinear", "bicubic"]
ResizeMode = Literal["stretch", "letterbox"]


class Resize:
    """Bring an image to a size, with an antialiased filter.

    Args:
        image_size: Height and width (H, W) in pixels.
        interpolation: The filter.
        mode: ``stretch`` changes the aspect ratio. ``letterbox`` keeps it: the image is made as
            large as fits, and centred on a canvas of the mean colour; of an odd number of rows or
            columns to fill, the smaller half is above or left.
        mean: Colour of the canvas, each channel as a share of white, 0..1; rounded to 8 bits.
    """

    def __init__(
        self,
        *,
        image_size: tuple[int, int],
        interpolation: Interpolation = "bilinear",
        mode: ResizeMode = "stretch",
        mean: tuple[float, float, float] = IMAGENET_MEAN,
    ) -> None:
        self.image_size = image_size
        self.colour = fill_colour("mean", mean)
        self._interpolation = InterpolationMode(interpolation)
        self._is_letterbox = mode == "letterbox"

    def __call__(self, image: Tensor) -> Tensor:
        """Return (3, H, W) uint8 of a (3, h, w) uint8 image; the image itself where it fits."""
        if not self._is_letterbox:
            return self._stretch(image, self.image_size)
        height, width = image.shape[-2:]
        inner = fitting_size((height, width), self.image_size)
        resized = self._stretch(image, inner)
        return resized if inner == self.image_size else self._on_canvas(resized)

    def _stretch(self, image: Tensor, size: tuple[int, int]) -> Tensor:
        resized: Tensor = resize_image(
            image, list(size), interpolation=self._interpolation, antialias=True
        )
        return resized

    def _on_canvas(self, image: Tensor) -> Tensor:
        rows, columns = image.shape[-2:]
        height, width = self.image_size
        top, left = (height - rows) // 2, (width - columns) // 2
        # Channels last in memory, as a decoded image is.
        colour = torch.tensor(self.colour, dtype=torch.uint8)
        canvas = colour.expand(height, width, 3).clone().permute(2, 0, 1)
        canvas[:, top : top + rows, left : left + columns] = image
        return canvas


def fitting_size(size: tuple[int, int], limits: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size (height, width) of an image's aspect ratio within limits.

    The side that does not reach its limit is rounded to whole pixels, and is at least 1.

    Args:
        size: Height and width of the image.
        limits: Height and width that it shall fit into.
    """
    (height, width), (max_height, max_width) = size, limits
    if height * max_width >= width * max_height:
        return max_height, max(1, min(max_width, round(width * max_height / height)))
    return max(1, min(max_height, round(height * max_width / width))), max_width
