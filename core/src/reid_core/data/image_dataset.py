"""Rows of a manifest as decoded, resized, augmented uint8 images."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info

from reid_core.contracts import Batch
from reid_core.data.colour import IMAGENET_MEAN
from reid_core.data.image_reader import BrokenImageError, read_image
from reid_core.data.keys import SampleKey
from reid_core.data.manifest import Manifest
from reid_core.data.resize import Interpolation, Resize, ResizeMode
from reid_core.data.transforms import ImageTransform
from reid_core.data.worker_errors import at_row
from reid_core.errors import DataError, PluginError

#: Decoded pixels that are held at once before they are resized: a batch of crops, but not of
#: photographs.
_BYTES_AT_ONCE = 2**23


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
        image_size: Height and width (H, W) in pixels that images are resized to.
        interpolation: Filter of the resize; antialiased.
        resize: Whether the aspect ratio changes or is kept; see :class:`Resize`.
        mean: Colour of the space that ``letterbox`` leaves, each channel 0..1.
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
        resize: ResizeMode = "stretch",
        mean: tuple[float, float, float] = IMAGENET_MEAN,
        transforms: Sequence[ImageTransform] = (),
        broken_images: Literal["fail", "skip"] = "fail",
        labels: NDArray[np.int64] | None = None,
    ) -> None:
        self._root = str(manifest.root)
        self._paths = manifest.paths
        self._size = tuple(image_size)
        self._resize = Resize(
            image_size=image_size, interpolation=interpolation, mode=resize, mean=mean
        )
        self._transforms = tuple(transforms)
        self._skips = broken_images == "skip"
        self._labels = labels

    def __len__(self) -> int:
        return len(self._paths)

    def path(self, row: int) -> str:
        """Return the full path of a row's file."""
        return os.path.join(self._root, str(self._paths[row]))  # noqa: PTH118 — pathlib costs more

    def __getitem__(self, key: SampleKey) -> Sample:
        return self.__getitems__([key])[0]

    def __getitems__(self, keys: Sequence[SampleKey]) -> list[Sample]:
        """Return several samples; errors say in which row they arose.

        They go together through reading, resizing and each transform, which takes two thirds of
        the time that one after the other takes: each step then finds its own code in the cache of
        the processor.
        """
        samples: list[Sample] = []
        opened: list[Sample] = []
        num_bytes = 0
        for position, key in enumerate(keys, 1):
            sample = at_row(key.row, self._open, int(key.row))
            opened.append(sample)
            num_bytes += sample.image.numel()
            if num_bytes >= _BYTES_AT_ONCE or position == len(keys):
                samples += [at_row(s.requested, self._resized, s) for s in opened]
                opened, num_bytes = [], 0
        return self._augmented(samples, keys) if self._transforms else samples

    def _open(self, row: int) -> Sample:
        try:
            return Sample(read_image(self.path(row)), row, row, True)
        except BrokenImageError as error:
            if not self._skips:
                raise _with_advice(error, row) from error
            return self._substitute(row, error)

    def _resized(self, sample: Sample) -> Sample:
        return Sample(self._resize(sample.image), *sample[1:])

    def _augmented(self, samples: list[Sample], keys: Sequence[SampleKey]) -> list[Sample]:
        # Philox takes its key as it is: seeding costs a fifth of numpy's default generator.
        rngs = [np.random.Generator(np.random.Philox(key=key.seed)) for key in keys]
        images = [sample.image for sample in samples]
        for transform in self._transforms:
            images = [
                at_row(key.row, self._transformed, transform, image, rng)
                for key, image, rng in zip(keys, images, rngs, strict=True)
            ]
        return [Sample(image, *s[1:]) for image, s in zip(images, samples, strict=True)]

    def _transformed(
        self, transform: ImageTransform, image: Tensor, rng: np.random.Generator
    ) -> Tensor:
        changed = transform(image, rng)
        if changed.dtype != torch.uint8 or changed.shape != (3, *self._size):
            kind = type(transform)
            raise PluginError(
                f"transform {kind.__name__} of {kind.__module__} made a "
                f"{tuple(changed.shape)} {changed.dtype}; expected (3, H, W) torch.uint8 of the "
                f"size it got, {(3, *self._size)}"
            )
        return changed

    def _substitute(self, row: int, error: BrokenImageError) -> Sample:
        if self._labels is None:
            return Sample(torch.zeros((3, *self._size), dtype=torch.uint8), row, row, False)
        candidates = np.flatnonzero(self._labels == self._labels[row])
        # The rows after the broken one, then those before it: the same choice in every worker.
        for other in np.concatenate([candidates[candidates > row], candidates[candidates < row]]):
            try:
                return Sample(read_image(self.path(int(other))), int(other), row, True)
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
        columns: Further numbers by row, each (N, …), by the names they have in the batch.
    """

    def __init__(
        self,
        pids: NDArray[np.int64],
        camids: NDArray[np.int64],
        columns: Mapping[str, NDArray[np.generic]] | None = None,
    ) -> None:
        self._pids = pids
        self._camids = camids
        self._columns = dict(columns or {})

    def __call__(self, samples: Sequence[Sample]) -> Batch:
        """Return the batch (B, 3, H, W) of samples of one size."""
        rows = np.array([sample.row for sample in samples], dtype=np.int64)
        return Batch(
            images=_stack([sample.image for sample in samples]),
            pids=torch.from_numpy(self._pids[rows]),
            camids=torch.from_numpy(self._camids[rows]),
            index=torch.from_numpy(rows),
            columns={
                **{name: torch.from_numpy(values[rows]) for name, values in self._columns.items()},
                "requested": torch.tensor([sample.requested for sample in samples]),
                "is_valid": torch.tensor([sample.is_valid for sample in samples]),
            },
        )


def _stack(images: Sequence[Tensor]) -> Tensor:
    # Decoded images have their channels last in memory; so does their batch, since turning each
    # into planes would take as long as decoding it. The normalisation does it on the device.
    if images[0].stride(0) != 1:
        return torch.stack(list(images))
    return torch.stack([image.permute(1, 2, 0) for image in images]).permute(0, 3, 1, 2)


def _with_advice(error: BrokenImageError, row: int) -> BrokenImageError:
    return BrokenImageError(
        f"{error} ({_where(row)}); repair or remove the file, or set data.broken_images=skip to go "
        "on without it; 'reid-train --check' lists every broken file"
    )


def _where(row: int) -> str:
    worker = get_worker_info()
    return f"row {row}, worker {worker.id}" if worker else f"row {row}"
