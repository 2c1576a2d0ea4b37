"""Loaders: batches of an epoch on the device, normalised and augmented; finite and seeded."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.contracts import Batch
from reid_core.data.batch_transforms import transformed
from reid_core.data.broken_images import BrokenImage, BrokenImages
from reid_core.data.fetch import BatchReader, fetch, keep_until_dead, make_loader
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.keys import EpochKeys, RowKeys
from reid_core.data.samplers import EpochSampler
from reid_core.data.transforms import BatchTransform

log = logging.getLogger("reid_core")


@dataclass(frozen=True)
class Normalize:
    """Channel statistics of RGB images scaled to 0..1.

    Args:
        mean: Per channel.
        std: Per channel, greater than 0.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __call__(self, images: Tensor) -> Tensor:
        """Map (B, 3, H, W) of 0..255 to float32 ``(x/255 - mean) / std``; the input is kept."""
        # Planes, whatever the layout of the pixels: see the collation.
        normal = torch.empty(images.shape, dtype=torch.float32, device=images.device)
        normal.copy_(images)
        for channel, (mean, std) in enumerate(zip(self.mean, self.std, strict=True)):
            # Plain numbers: a tensor of them would be copied to the device each step, and wait.
            normal[:, channel].sub_(255 * mean).mul_(1 / (255 * std))
        return normal


class TrainLoader:
    """Training batches, epoch by epoch.

    Batch ``i`` of epoch ``e`` depends on the seed, ``e`` and ``i`` alone: not on the number of
    workers, nor on whether the run was resumed before it. One epoch is read at a time.

    Args:
        dataset: Decoded images by row.
        collate: Samples to a batch, with the labels.
        sampler: Which rows form the batches of an epoch.
        normalize: Applied to every batch, on the device.
        batch_transforms: Applied after it, on the device, in order.
        device: Where batches go.
        seed: Seed of order and augmentation.
        workers: Processes that decode; 0 decodes here.
        start_method: How they are started; None is Python's default.
        repeats_first_epoch: Whether every epoch is epoch 0 again, augmentation included.
        rank: Number of this process, from 0, of those that share each batch.
        num_ranks: How many do; each gets its part of what one process would get.

    Raises:
        ConfigError: A batch cannot be dealt to so many.
    """

    def __init__(
        self,
        *,
        dataset: ImageDataset,
        collate: Collate,
        sampler: EpochSampler,
        normalize: Normalize,
        batch_transforms: Sequence[BatchTransform] = (),
        device: torch.device,
        seed: int,
        workers: int,
        start_method: str | None = None,
        repeats_first_epoch: bool = False,
        rank: int = 0,
        num_ranks: int = 1,
    ) -> None:
        self._repeats_first_epoch = repeats_first_epoch
        self._keys = EpochKeys(
            sampler, seed=seed, num_rows=len(dataset), rank=rank, num_ranks=num_ranks
        )
        self._normalize = normalize
        self._batch_transforms = tuple(batch_transforms)
        self._device = device
        self._loader = make_loader(
            BatchReader(dataset, collate),
            self._keys,
            workers=workers,
            is_persistent=True,
            device=device,
            start_method=start_method,
        )
        keep_until_dead(self, self._loader)
        #: The broken images that were replaced so far.
        self.broken = BrokenImages()

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return len(self._keys.sampler)

    def summary(self) -> str:
        """Say in one line what an epoch holds and what it leaves out."""
        return self._keys.sampler.summary()

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch.

        Args:
            epoch: Number of the epoch, from 0.
            start: First batch to make; the ones before it are not decoded.

        Yields:
            Batches on the device, images (B, 3, H, W) float32.

        Raises:
            DataError: An image cannot be read and may not be skipped.
            PluginError: Sampler or transform do not keep what they promise.
        """
        epoch = 0 if self._repeats_first_epoch else epoch
        self._keys.epoch, self._keys.start = epoch, start
        for position, batch in enumerate(fetch(self._loader, self._note_broken), start):
            on_device = batch.to(self._device)
            images = self._normalize(on_device.images)
            if self._batch_transforms:
                entropy = (self._keys.seed, epoch, position, 1)
                rng = np.random.default_rng(np.random.SeedSequence(entropy))
                images = transformed(images, self._batch_transforms, rng, self._keys.share)
            yield on_device.with_images(images)

    def _note_broken(self, images: Iterable[BrokenImage]) -> None:
        for image in self.broken.note(images):
            log.warning(
                "broken image replaced by another of its identity: %s (%s)",
                image.path,
                image.reason,
            )


class TestLoader:
    """All rows once, in their order, as normalised batches; or the share of one process.

    Args:
        dataset: Decoded images by row.
        collate: Samples to a batch, with identities and cameras.
        batch_size: Rows a batch; the last one may be smaller.
        normalize: Applied to every batch, on the device.
        device: Where batches go.
        workers: Processes that decode; 0 decodes here.
        start_method: How they are started; None is Python's default.
        rank: Number of this process, from 0, of those that share the rows batch by batch.
        num_ranks: How many do.
    """

    __test__ = False  # not a test case, whatever pytest reads into the name

    def __init__(
        self,
        *,
        dataset: ImageDataset,
        collate: Collate,
        batch_size: int,
        normalize: Normalize,
        device: torch.device,
        workers: int,
        start_method: str | None = None,
        rank: int = 0,
        num_ranks: int = 1,
    ) -> None:
        self._normalize = normalize
        self._device = device
        self._keys = RowKeys(len(dataset), batch_size, rank=rank, num_ranks=num_ranks)
        self._loader = make_loader(
            BatchReader(dataset, collate),
            self._keys,
            workers=workers,
            is_persistent=False,
            device=device,
            start_method=start_method,
        )
        #: The broken images that were met so far; their pixels in the batches are black.
        self.broken = BrokenImages()

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._keys)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that are given, ascending, (n,) int64."""
        return self._keys.rows

    def __iter__(self) -> Iterator[Batch]:
        for batch in fetch(self._loader, self.broken.note):
            on_device = batch.to(self._device)
            yield on_device.with_images(self._normalize(on_device.images))


def usable_workers(requested: int) -> int:
    """Return the number of workers to start: the wish, but no more than there are cores.

    The data does not depend on it, so lowering it changes no result; a note says so.
    """
    cores = _usable_cores()
    if requested > cores:
        log.info("data.workers %d lowered to the %d cores that can be used", requested, cores)
        return cores
    return requested


def _usable_cores() -> int:
    # A container or job scheduler may grant fewer than the machine has; only Linux tells.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
