"""Images by row, of one data set or several after each other, in a form that processes share."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reid_core.data.image_reader import BrokenImageError, read_stored
from reid_core.data.manifest import Manifest
from reid_core.data.stores import FolderStore
from reid_core.data.text_buffer import pack_texts


class ImageRows:
    """The images of manifests, one manifest after the other; each is read from its own store.

    What grows with the number of rows is held in a few tensors. Worker processes share these,
    however they are started: a list of texts would be copied to each, by reference counts alone.

    A row with a box is the part of the upright image that the box covers. The edges of a box, x,
    y, x + width and y + height, are rounded to whole pixels, halves up; what lies outside of the
    image is cut off; a box that touches the image keeps one pixel at least.

    Args:
        manifests: The sets, in order.
    """

    def __init__(self, manifests: Sequence[Manifest]) -> None:
        self._stores = tuple(manifest.images for manifest in manifests)
        self._names = tuple(manifest.name for manifest in manifests)
        ends = np.cumsum([len(manifest) for manifest in manifests], dtype=np.int64)
        self._ends: list[int] = ends.tolist()
        texts, offsets = pack_texts([manifest.paths for manifest in manifests])
        self._texts, self._offsets = torch.from_numpy(texts), torch.from_numpy(offsets)
        self._boxes = _boxes(manifests)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def read(self, row: int) -> Tensor:
        """Read the image of a row.

        Args:
            row: Its number over all sets.

        Returns:
            (3, H, W) uint8, RGB.

        Raises:
            BrokenImageError: It cannot be read, or its box holds nothing of the image.
        """
        image = read_stored(self._stores[self._set_of(row)], self._path(row))
        if self._boxes is None:
            return image
        box: list[float] = self._boxes[row].tolist()
        try:
            return crop(image, box)
        except ValueError as error:
            raise BrokenImageError(f"image {self.locate(row)}, row {row}: {error}") from error

    def locate(self, row: int) -> str:
        """Say where the image of a row is: a file's full path, where it is one."""
        return self._stores[self._set_of(row)].locate(self._path(row))

    def is_file(self, row: int) -> bool:
        """Say whether the image of a row lies in a file of its own."""
        return isinstance(self._stores[self._set_of(row)], FolderStore)

    def dataset(self, row: int) -> str:
        """Return the name of the data set that a row belongs to."""
        return self._names[self._set_of(row)]

    def box(self, row: int) -> tuple[float, float, float, float] | None:
        """Return a row's box, x, y, width and height in pixels; None is the whole image."""
        if self._boxes is None or bool(self._boxes[row].isnan().all()):
            return None
        x, y, width, height = self._boxes[row].tolist()
        return x, y, width, height

    def _set_of(self, row: int) -> int:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return bisect_right(self._ends, row)

    def _path(self, row: int) -> str:
        start, stop = self._offsets[row : row + 2].tolist()
        return self._texts[start:stop].numpy().tobytes().decode()


def crop(image: Tensor, box: Sequence[float]) -> Tensor:
    """Cut a box out of an image, by the rule of :class:`ImageRows`.

    Args:
        image: (3, H, W).
        box: x, y, width and height in pixels; all NaN is the whole image.

    Returns:
        (3, h, w), not a view of a larger image.

    Raises:
        ValueError: The box lies outside, is empty, or some of its numbers are missing.
    """
    x, y, width, height = box
    if all(math.isnan(number) for number in box):
        return image
    size = image.shape[2], image.shape[1]
    named = f"its box x {x:g}, y {y:g}, width {width:g}, height {height:g}"
    if not all(math.isfinite(number) for number in box):
        raise ValueError(f"{named} is not complete; expected four numbers, or none of them")
    if width <= 0 or height <= 0:
        raise ValueError(f"{named} is empty; expected a width and height above 0")
    if x >= size[0] or y >= size[1] or x + width <= 0 or y + height <= 0:
        raise ValueError(f"{named} lies outside of the image of {size[0]} × {size[1]} pixels")
    left, right = _edges(x, width, size[0])
    top, bottom = _edges(y, height, size[1])
    if (right - left, bottom - top) == size:
        return image
    # A copy: a view would keep the whole photograph in memory. Channels stay last in it.
    part = image.permute(1, 2, 0)[top:bottom, left:right]
    return part.contiguous().permute(2, 0, 1)


def _edges(start: float, length: float, limit: int) -> tuple[int, int]:
    first = min(max(math.floor(start + 0.5), 0), limit - 1)
    last = min(math.floor(start + length + 0.5), limit)
    return first, max(last, first + 1)


def _boxes(manifests: Sequence[Manifest]) -> Tensor | None:
    """Return boxes (N, 4) float64, NaN where a set has none; None where no set has any."""
    if not any("boxes" in manifest.columns for manifest in manifests):
        return None
    nothing = np.full((1, 4), np.nan)
    parts = [
        np.asarray(manifest.columns["boxes"], dtype=np.float64)
        if "boxes" in manifest.columns
        else np.repeat(nothing, len(manifest), axis=0)
        for manifest in manifests
    ]
    return torch.from_numpy(np.concatenate(parts))
