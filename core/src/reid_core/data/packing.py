"""Packing a data set: all of its images into one file, its manifest beside it."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image
from torch import Tensor

from reid_core.data.image_reader import BrokenImageError
from reid_core.data.image_rows import ImageRows
from reid_core.data.manifest import Manifest, text_column
from reid_core.data.packed_manifest import MANIFEST_FILE, write_manifest
from reid_core.data.packed_store import DATA_FILE, require_lmdb
from reid_core.data.packed_writer import PackedWriter, folder_that_becomes
from reid_core.data.resize import Resize, fitting_size
from reid_core.errors import DataError, UsageError
from reid_core.progress import track


@dataclass(frozen=True, kw_only=True)
class Recoding:
    """How images are made smaller before they are packed.

    Args:
        size: Height and width (H, W) in pixels to stretch each image to; None keeps the aspect.
        max_side: The longer side in pixels of what is larger; None keeps the size.
        quality: Quality of the JPEG that a changed image becomes, 1 to 100; its colours are kept
            at full resolution.
    """

    size: tuple[int, int] | None = None
    max_side: int | None = None
    quality: int = 95

    @property
    def changes_sizes(self) -> bool:
        """Whether there is a size to come to."""
        return self.size is not None or self.max_side is not None

    def target(self, height: int, width: int) -> tuple[int, int]:
        """Return the size (H, W) that an image of a size comes to."""
        if self.size is not None:
            return self.size
        if self.max_side is not None and max(height, width) > self.max_side:
            return fitting_size((height, width), (self.max_side, self.max_side))
        return height, width

    def describe(self) -> str:
        """Say what was done, for the notes of the packed set."""
        if self.size is not None:
            what = f"stretched to {self.size[0]} × {self.size[1]} (height × width)"
        elif self.max_side is not None:
            what = f"made to fit {self.max_side} × {self.max_side}"
        else:
            what = "cut out by their boxes"
        return f"images {what}, and stored as JPEG of quality {self.quality}"


@dataclass(frozen=True)
class PackReport:
    """What packing gave.

    Args:
        folder: The packed set.
        num_images: Images in it.
        num_recoded: Those that are not the bytes of their file.
        num_bytes: Size of the images in it, together.
        num_bytes_on_disk: Size of the database's file.
    """

    folder: Path
    num_images: int
    num_recoded: int
    num_bytes: int
    num_bytes_on_disk: int


@dataclass(frozen=True)
class _Item:
    path: str
    row: int
    is_crop: bool


def pack(manifest: Manifest, folder: Path, recoding: Recoding) -> PackReport:
    """Pack a data set.

    The folder takes its name when everything is in it: what is broken off leaves none.

    Args:
        manifest: The set. An image that several rows name is packed once. The box of a row is cut
            out, and the row has none afterwards.
        folder: Where to; not there yet, or empty.
        recoding: Whether images are made smaller. Those that need no change keep the bytes of
            their file.

    Raises:
        UsageError: The folder is in use.
        DataError: An image cannot be read, or the package lmdb is not installed.
    """
    require_lmdb()
    if folder.exists() and not (folder.is_dir() and next(folder.iterdir(), None) is None):
        raise UsageError(
            f"{folder} exists already; name a folder that does not, or remove it first"
        )
    items, paths = _plan(manifest)
    with folder_that_becomes(folder) as unfinished:
        packer = _Packer(manifest, recoding)
        with PackedWriter(unfinished) as writer:
            for item in track(items, total=len(items), description="packing images"):
                writer.put(item.path, packer.content(item))
        packed = _packed(manifest, paths, packer, recoding)
        write_manifest(unfinished / MANIFEST_FILE, packed, num_images=len(items))
    on_disk = (folder / DATA_FILE).stat().st_size
    return PackReport(folder, len(items), packer.num_recoded, packer.num_bytes, on_disk)


class _Packer:
    """The content of each image, and how much there was."""

    def __init__(self, manifest: Manifest, recoding: Recoding) -> None:
        self._manifest = manifest
        self._rows = ImageRows([manifest])
        self._recoding = recoding
        self.num_recoded = 0
        self.num_bytes = 0

    def content(self, item: _Item) -> bytes:
        changed = self._changed(item) if item.is_crop or self._recoding.changes_sizes else None
        content = (
            self._original(item) if changed is None else _as_jpeg(changed, self._recoding.quality)
        )
        self.num_recoded += changed is not None
        self.num_bytes += len(content)
        return content

    def _original(self, item: _Item) -> bytes:
        try:
            return self._manifest.images.read(item.path)
        except OSError as error:
            raise DataError(
                f"image {self._rows.locate(item.row)} cannot be opened: "
                f"{error.strerror or error}; 'reid-data check' lists all that is broken"
            ) from error

    def _changed(self, item: _Item) -> Tensor | None:
        try:
            image = self._rows.read(item.row)
        except BrokenImageError as error:
            raise DataError(f"{error}; 'reid-data check' lists all that is broken") from error
        height, width = image.shape[-2:]
        target = self._recoding.target(height, width)
        if target == (height, width):
            return image if item.is_crop else None
        return Resize(image_size=target)(image)


def _plan(manifest: Manifest) -> tuple[list[_Item], list[str]]:
    """Return the images to pack, each once, and the path (N,) that each row shall have."""
    boxes = manifest.columns.get("boxes")
    crops = np.zeros(len(manifest), dtype=np.bool_)
    if boxes is not None:
        crops |= ~np.isnan(np.asarray(boxes, dtype=np.float64)).all(axis=1)
    items: list[_Item] = []
    named: dict[tuple[str, tuple[float, ...]], str] = {}
    num_crops: dict[str, int] = {}
    paths = []
    for row, (path, is_crop) in enumerate(
        zip(manifest.paths.tolist(), crops.tolist(), strict=True)
    ):
        box = tuple(boxes[row].tolist()) if is_crop and boxes is not None else ()
        name = named.get((path, box))
        if name is None:
            name = path
            if is_crop:
                num_crops[path] = num_crops.get(path, 0) + 1
                name = f"{path}/{num_crops[path]}.jpg"
            named[path, box] = name
            items.append(_Item(name, row, is_crop))
        paths.append(name)
    return items, paths


def _packed(manifest: Manifest, paths: list[str], packer: _Packer, recoding: Recoding) -> Manifest:
    columns = {name: values for name, values in manifest.columns.items() if name != "boxes"}
    how = recoding.describe() if packer.num_recoded else "images as they were, byte for byte"
    return replace(
        manifest,
        paths=text_column(paths),
        columns=columns,
        notes=(*manifest.notes, f"packed: {how}"),
        store=None,
    )


def _as_jpeg(image: Tensor, quality: int) -> bytes:
    stream = io.BytesIO()
    pixels = Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())
    pixels.save(stream, "JPEG", quality=quality, subsampling=0)
    return stream.getvalue()
