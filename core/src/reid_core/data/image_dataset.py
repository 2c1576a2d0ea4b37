"""Rows of a manifest as decoded, resized, augmented uint8 images."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info
from torchvision.transforms.v2 import functional as image_ops
from torchvision.transforms.v2.functional import InterpolationMode

from reid_core.contracts import Batch
from reid_core.data.image_reader import BrokenImageError, read_image
from reid_core.data.keys import SampleKey
from reid_core.data.manifest import Manifest
from reid_core.data.transforms import ImageTransform
from reid_core.errors import DataError, PluginError

Interpolation = Literal["bilinear", "bicubic"]


class Sample(NamedTuple):
    """One sample on its way to the batch.

    Args:
        image: (3, H, W) uint8.
        row: Row the image came from; ``requested`` where nothing was broken.
        requested: Row the sampler asked for.
        is_valid: False for a broken image of a test set, whose pixels are all 0.
    """

    image: Tensor
    row: int
    requested: int
    is_valid: bool


class ImageDataset(Dataset[Sample]):
    """Images of a manifest, by row.

    Args:
        manifest: The rows.
        image_size: Height and width (H, W) in pixels that images are stretched to.
        interpolation: Filter of the resize; antialiased.
        transforms: Augmentations of single images, in order.
        broken_images: ``fail`` raises for an unreadable image; ``skip`` replaces it by another
            image of the same label, or marks it as not valid when there are no ``labels``.
        labels: (N,) training labels; needed to replace broken images.
    """

    def __init__(
        self,
        manifest: Manifest,
        *,
        image_size: tuple[int, int],
        interpolation: Interpolation = "bilinear",
        transforms: Sequence[ImageTransform] = (),
        broken_images: Literal["fail", "skip"] = "fail",
        labels: NDArray[np.int64] | None = None,
    ) -> None:
        self._root = str(manifest.root)
        self._paths = manifest.paths
        self._size = list(image_size)
        self._interpolation = InterpolationMode(interpolation)
        self._transforms = tuple(transforms)
        self._skips = broken_images == "skip"
        self._labels = labels

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, row: int) -> str:
        """Return the full path of a row's file."""
        return os.path.join(self._root, str(self._paths[row]))  # noqa: PTH118 — pathlib costs more

    def __getitem__(self, key: SampleKey) -> Sample:
        row, is_valid = int(key.row), True
        try:
            image = read_image(self.path(row))
        except BrokenImageError as error:
            if not self._skips:
                raise _with_advice(error, row) from error
            image, row, is_valid = self._substitute(row, error)
        if list(image.shape[-2:]) != self._size:
            image = image_ops.resize(
                image, self._size, interpolation=self._interpolation, antialias=True
            )
        if self._transforms:
            image = self._augment(image, key.seed)
        return Sample(image, row, int(key.row), is_valid)

    def _augment(self, image: Tensor, seed: int) -> Tensor:
        # Philox takes its key as it is: seeding costs a fifth of numpy's default generator.
        rng = np.random.Generator(np.random.Philox(key=seed))
        for transform in self._transforms:
            image = transform(image, rng)
            if image.dtype != torch.uint8 or list(image.shape) != [3, *self._size]:
                kind = type(transform)
                raise PluginError(
                    f"transform {kind.__name__} of {kind.__module__} made a "
                    f"{tuple(image.shape)} {image.dtype}; expected (3, H, W) torch.uint8 of the "
                    f"size it got, {(3, *self._size)}"
                )
        return image

    def _substitute(self, row: int, error: BrokenImageError) -> tuple[Tensor, int, bool]:
        if self._labels is None:
            return torch.zeros((3, *self._size), dtype=torch.uint8), row, False
        candidates = np.flatnonzero(self._labels == self._labels[row])
        # The rows after the broken one, then those before it: the same choice in every worker.
        for other in np.concatenate([candidates[candidates > row], candidates[candidates < row]]):
            try:
                return read_image(self.path(int(other))), int(other), True
            except BrokenImageError:
                continue
        raise DataError(
            f"{error} ({_where(row)}); and no other image of its identity can be read, so it "
            "cannot be skipped: remove the identity from the data set"
        ) from error


class Collate:
    """Samples to a :class:`Batch` of uint8 images with labels and cameras.

    Args:
        pids: (N,) labels or identity codes by row.
        camids: (N,) camera codes by row.
    """

    def __init__(self, pids: NDArray[np.int64], camids: NDArray[np.int64]) -> None:
        self._pids = pids
        self._camids = camids

    def __call__(self, samples: Sequence[Sample]) -> Batch:
        """Return the batch (B, 3, H, W) of samples of one size."""
        rows = np.array([sample.row for sample in samples], dtype=np.int64)
        return Batch(
            images=torch.stack([sample.image for sample in samples]),
            pids=torch.from_numpy(self._pids[rows]),
            camids=torch.from_numpy(self._camids[rows]),
            index=torch.from_numpy(rows),
            columns={
                "requested": torch.tensor([sample.requested for sample in samples]),
                "is_valid": torch.tensor([sample.is_valid for sample in samples]),
            },
        )


def _with_advice(error: BrokenImageError, row: int) -> BrokenImageError:
    return BrokenImageError(
        f"{error} ({_where(row)}); repair or remove the file, or set data.broken_images=skip to go "
        "on without it; 'reid-train --check' lists every broken file"
    )


def _where(row: int) -> str:
    worker = get_worker_info()
    return f"row {row}, worker {worker.id}" if worker else f"row {row}"
