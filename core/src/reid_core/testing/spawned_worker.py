"""A transform at work in a worker process that was spawned, not forked."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from reid_core.data.transforms import ImageTransform

#: Seconds to wait for a result; the worker has to import torch and the plugin first.
_TIMEOUT = 120


class _Images(Dataset[Tensor]):
    """What a transform makes of one image, by seed; an object of a module, so that it pickles."""

    def __init__(self, transform: ImageTransform, image: Tensor, seeds: list[int]) -> None:
        self._transform = transform
        self._image = image
        self._seeds = seeds

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, row: int) -> Tensor:
        return self._transform(self._image, np.random.default_rng(self._seeds[row]))


def transform_in_worker(
    transform: ImageTransform, image: Tensor, seeds: Iterable[int]
) -> list[Tensor]:
    """Apply a transform in a spawned worker process.

    Args:
        transform: It is pickled.
        image: (3, H, W) uint8.
        seeds: One application each, with a generator of that seed.

    Returns:
        The images made, in the order of the seeds.
    """
    images = _Images(transform, image, list(seeds))
    loader: DataLoader[Tensor] = DataLoader(
        images,
        batch_size=None,
        num_workers=1,
        multiprocessing_context="spawn",
        timeout=_TIMEOUT,
        generator=torch.Generator(),  # or the loader would draw from the global one
    )
    return list(loader)
