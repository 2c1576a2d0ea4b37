"""What every transform promises, and the two places where one can act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from torch import Tensor

from reid_core.errors import PluginError


class ImageTransform:
    """Changes single images, in the worker that decoded them.

    All randomness comes from the generator that is handed in, so that an image is the same
    whichever worker makes it. An instance must be picklable.
    """

    stage: ClassVar[Literal["image"]] = "image"

    def __call__(self, image: Tensor, rng: np.random.Generator) -> Tensor:
        """Return a (3, H, W) uint8 image made from one; the input may not be changed."""
        raise NotImplementedError


class BatchTransform:
    """Changes normalised batches, on the device, where that is faster and equivalent.

    Attributes:
        mixes_images: Whether an image may depend on the others of its batch. Where several
            processes share a batch, one that may is given the images of all of them; one that says
            ``mixes_images = False`` is given a batch in which only the own rows are filled.
    """

    stage: ClassVar[Literal["batch"]] = "batch"
    mixes_images: bool = True

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (B, 3, H, W) float32 made from ``images``, which may be changed in place."""
        raise NotImplementedError


def split_stages(
    transforms: Sequence[object],
) -> tuple[list[ImageTransform], list[BatchTransform]]:
    """Sort transforms by the place they act in, keeping their order.

    Raises:
        PluginError: One is neither an image nor a batch transform.
    """
    images: list[ImageTransform] = []
    batches: list[BatchTransform] = []
    for transform in transforms:
        if isinstance(transform, ImageTransform):
            images.append(transform)
        elif isinstance(transform, BatchTransform):
            batches.append(transform)
        else:
            raise PluginError(
                f"transform {type(transform).__name__} of {type(transform).__module__} is neither "
                "an ImageTransform nor a BatchTransform; derive it from one of them"
            )
    return images, batches
