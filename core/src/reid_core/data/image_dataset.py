"""Rows of a manifest as decoded, resized, augmented uint8 images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset, get_worker_info

from reid_core.contracts import Batch
from reid_core.data.broken_images import BrokenImage
from reid_core.data.colour import IMAGENET_MEAN
from reid_core.data.image_reader import BrokenImageError
from reid_core.data.image_rows import ImageRows
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
        broken: The image of the requested row, where it could not be read.
    """

    image: Tensor
    row: int
    requested: int
    is_valid: bool
    broken: BrokenImage | None = None


class ImageDataset(Dataset[Sample]):
    """Images by row, as a network takes them.

    Args:
        rows: The images, or a manifest of them.
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
        rows: ImageRows | Manifest,
        *,
        image_size: tuple[int, int],
        interpolation: Interpolation = "bilinear",
        resize: ResizeMode = "stretch",
        mean: tuple[float, float, float] = IMAGENET_MEAN,
        transforms: Sequence[ImageTransform] = (),
        broken_images: Literal["fail", "skip"] = "fail",
        labels: NDArray[np.int64] | None = None,
    ) -> None:
        #: The images as they are.
        self.rows = rows if isinstance(rows, ImageRows) else ImageRows([rows])
        self._size = tuple(image_size)
        self._resize = Resize(
            image_size=image_size, interpolation=interpolation, mode=resize, mean=mean
        )
        self._transforms = tuple(transforms)
        self._skips = broken_images == "skip"
        # A tensor: worker processes share it.
        self._labels = None if labels is None else as_tensor(labels)

    def __len__(self) -> int:
        return len(self.rows)

    def path(self, row: int) -> str:
        """Say where a row's image is: a file's full path, where it is one."""
        return self.rows.locate(row)

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
            return Sample(self.rows.read(row), row, row, True)
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
            black = torch.zeros((3, *self._size), dtype=torch.uint8)
            return Sample(black, row, row, False, self._broken(row, error))
        candidates = torch.nonzero(self._labels == self._labels[row]).flatten()
        # The rows after the broken one, then those before it: the same choice in every worker.
        order = torch.cat([candidates[candidates > row], candidates[candidates < row]])
        for other in order.tolist():
            try:
                image = self.rows.read(other)
            except BrokenImageError:
                continue
            return Sample(image, other, row, True, self._broken(row, error, self.path(other)))
        raise DataError(
            f"{error}{_where(row, str(error))}; and no other image of its identity can be read, so "
            "it cannot be skipped: remove the identity from the data set"
        ) from error

    def _broken(
        self, row: int, error: BrokenImageError, replaced_by: str | None = None
    ) -> BrokenImage:
        path = self.path(row)
        reason = str(error).removeprefix(f"image {path}").lstrip(", ")
        return BrokenImage(path, row, self.rows.dataset(row), reason, replaced_by)


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
        # Tensors: worker processes share them.
        self._pids = as_tensor(pids)
        self._camids = as_tensor(camids)
        self._columns = {name: as_tensor(values) for name, values in (columns or {}).items()}

    def __call__(self, samples: Sequence[Sample]) -> Batch:
        """Return the batch (B, 3, H, W) of samples of one size."""
        rows = torch.tensor([sample.row for sample in samples], dtype=torch.int64)
        return Batch(
            images=_stack([sample.image for sample in samples]),
            pids=self._pids[rows],
            camids=self._camids[rows],
            index=rows,
            columns={
                **{name: values[rows] for name, values in self._columns.items()},
                "requested": torch.tensor([sample.requested for sample in samples]),
                "is_valid": torch.tensor([sample.is_valid for sample in samples]),
            },
        )


def as_tensor(values: NDArray[np.generic]) -> Tensor:
    """Return a column as a tensor, which processes share however they are started.

    Args:
        values: (N, …) of any type that tensors have.
    """
    # Pages of a file that is only read cannot become a tensor without a warning.
    return torch.from_numpy(np.require(values, requirements=["C", "W"]))


def _stack(images: Sequence[Tensor]) -> Tensor:
    # Decoded images have their channels last in memory; so does their batch, since turning each
    # into planes would take as long as decoding it. The normalisation does it on the device.
    if images[0].stride(0) != 1:
        return torch.stack(list(images))
    return torch.stack([image.permute(1, 2, 0) for image in images]).permute(0, 3, 1, 2)


def _with_advice(error: BrokenImageError, row: int) -> BrokenImageError:
    # A box is wrong in the table, not in the file.
    mend = (
        "mend the box or take its row out" if " box " in str(error) else "repair or remove the file"
    )
    return BrokenImageError(
        f"{error}{_where(row, str(error))}; {mend}, or set data.broken_images=skip to go on "
        "without it; 'reid-train --check' lists every broken file"
    )


def _where(row: int, told: str) -> str:
    """Return what is not told yet of the row, counted from 0 in what is read, and the worker."""
    worker = get_worker_info()
    parts = [] if f"row {row}" in told else [f"row {row}"]
    parts += [f"worker {worker.id}"] if worker else []
    return f" ({', '.join(parts)})" if parts else ""
