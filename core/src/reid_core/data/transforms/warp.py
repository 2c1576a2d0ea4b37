"""How pixels are looked up when an image is turned, sheared or shifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torchvision.transforms.v2 import functional as image_ops
from torchvision.transforms.v2.functional import InterpolationMode

WarpFilter = Literal["nearest", "bilinear"]


@dataclass(frozen=True)
class Warp:
    """Filter and fill of an affine map.

    Args:
        interpolation: Filter.
        fill: Colour, 0..255 a channel, of pixels that come from outside.
    """

    interpolation: WarpFilter
    fill: tuple[int, int, int]

    def __call__(
        self,
        image: Tensor,
        *,
        angle: float = 0.0,
        translate: tuple[int, int] = (0, 0),
        scale: float = 1.0,
        shear: tuple[float, float] = (0.0, 0.0),
        center: Sequence[float] | None = None,
    ) -> Tensor:
        """Return (3, H, W) uint8 of an image of that kind.

        Args:
            image: (3, H, W) uint8.
            angle: Degrees, clockwise.
            translate: Pixels to the right and down.
            scale: Factor.
            shear: Degrees along x and along y.
            center: Fixed point as x and y, in pixels from the upper left corner; None is the
                middle.
        """
        # In planes: the sampler's rounding depends on the layout.
        warped: Tensor = image_ops.affine(
            image.contiguous(),
            angle=angle,
            translate=list(translate),
            scale=scale,
            shear=list(shear),
            interpolation=InterpolationMode(self.interpolation),
            fill=[float(channel) for channel in self.fill],
            center=None if center is None else list(center),
        )
        return warped
