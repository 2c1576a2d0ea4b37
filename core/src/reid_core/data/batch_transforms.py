"""Batch transforms, on the whole batch or on the share that one of several processes has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reid_core.data.shares import BatchShare
from reid_core.data.transforms import BatchTransform
from reid_core.distributed.tensors import gathered


def transformed(
    images: Tensor,
    transforms: Sequence[BatchTransform],
    rng: np.random.Generator,
    share: BatchShare,
) -> Tensor:
    """Apply transforms in their order; what comes out is the share of what one process would make.

    Each process draws for all images of the batch. Those of the others are fetched for a transform
    that may mix images; any other one is shown zeros in their place.

    Args:
        images: (B, 3, H, W) float32, the rows of this process; may be changed.
        transforms: What is applied.
        rng: In the same state in all processes.
        share: Which rows of the whole batch they are.

    Returns:
        (B, 3, H, W) float32.
    """
    if share.world == 1:
        for transform in transforms:
            images = transform(images, rng)
        return images
    own = share.rows(len(images) * share.world)
    for transform in transforms:
        whole = gathered(images) if transform.mixes_images else _among_zeros(images, own, share)
        images = transform(whole, rng)[own]
    return images.clone(memory_format=torch.preserve_format)


def _among_zeros(images: Tensor, own: slice, share: BatchShare) -> Tensor:
    whole = images.new_zeros((len(images) * share.world, *images.shape[1:]))
    whole[own] = images
    return whole
