"""The operations that learned and mixed augmentation policies draw from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from torch import Tensor
from torchvision.transforms.v2 import functional

from reid_core.data.transforms.warp import Warp

ImageOp = Literal[
    "identity",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
    "rotate",
    "brightness",
    "color",
    "contrast",
    "sharpness",
    "posterize",
    "solarize",
    "auto_contrast",
    "equalize",
    "invert",
]

#: Every operation, in the order that draws by number rely on.
IMAGE_OPS: tuple[ImageOp, ...] = get_args(ImageOp)

#: Operations whose magnitude has a direction, which is drawn.
SIGNED_OPS: frozenset[ImageOp] = frozenset(IMAGE_OPS[1:10])

_UPPER_LEFT = (0.0, 0.0)

#: Magnitude: a slope (shears), pixels (translations) or degrees (rotate).
_WARPS: Mapping[ImageOp, Callable[[Tensor, float, Warp], Tensor]] = {
    "shear_x": lambda image, slope, warp: warp(
        image, shear=(math.degrees(math.atan(slope)), 0.0), center=_UPPER_LEFT
    ),
    "shear_y": lambda image, slope, warp: warp(
        image, shear=(0.0, math.degrees(math.atan(slope))), center=_UPPER_LEFT
    ),
    "translate_x": lambda image, pixels, warp: warp(image, translate=(int(pixels), 0)),
    "translate_y": lambda image, pixels, warp: warp(image, translate=(0, int(pixels))),
    # Counter-clockwise, as the field's libraries turn images.
    "rotate": lambda image, degrees, warp: warp(image, angle=-degrees),
}

#: Magnitude: what is added to the factor 1 (brightness to sharpness), bits (posterize), the value
#: from which on pixels are inverted (solarize); of no meaning for the others.
_COLOUR_OPS: Mapping[ImageOp, Callable[[Tensor, float], Tensor]] = {
    "identity": lambda image, _: image,
    "brightness": lambda image, change: functional.adjust_brightness(image, 1 + change),
    "color": lambda image, change: functional.adjust_saturation(image, 1 + change),
    "contrast": lambda image, change: functional.adjust_contrast(image, 1 + change),
    "sharpness": lambda image, change: functional.adjust_sharpness(image, 1 + change),
    "posterize": lambda image, bits: functional.posterize(image, int(bits)),
    "solarize": lambda image, threshold: functional.solarize(image, threshold),
    "auto_contrast": lambda image, _: functional.autocontrast(image),
    "equalize": lambda image, _: functional.equalize(image),
    "invert": lambda image, _: functional.invert(image),
}


def apply_op(image: Tensor, name: ImageOp, magnitude: float, warp: Warp) -> Tensor:
    """Return what an operation makes of an image.

    Args:
        image: (3, H, W) uint8.
        name: The operation.
        magnitude: How much of it, in its own unit, with a sign where it has a direction.
        warp: Filter and fill of the operations that move pixels.

    Returns:
        (3, H, W) uint8; the image itself where nothing changes.
    """
    if name in _WARPS:
        return _WARPS[name](image, magnitude, warp)
    # In planes: sums over the image would be added up in another order otherwise.
    return _COLOUR_OPS[name](image.contiguous(), magnitude)


def magnitude_of(name: ImageOp, level: float, height: int, width: int) -> float:
    """Return the magnitude of an operation at a level, as AutoAugment and RandAugment scale it.

    Shears reach a slope of .3, translations 150/331 of the side, rotations 30°, and brightness,
    color, contrast and sharpness ±.9. Posterize keeps 8 bits down to 4. Solarize inverts from 255
    down to everything.

    Args:
        name: The operation.
        level: 0..1.
        height: Of the image, in pixels.
        width: Of the image, in pixels.

    Source: Cubuk et al., AutoAugment, CVPR 2019, table 6.
    """
    if name in ("shear_x", "shear_y"):
        return 0.3 * level
    if name == "translate_x":
        return 150 / 331 * width * level
    if name == "translate_y":
        return 150 / 331 * height * level
    if name == "rotate":
        return 30 * level
    if name == "posterize":
        return round(8 - 4 * level)
    if name == "solarize":
        return 255 * (1 - level)
    return 0.9 * level
