"""One rule for reading an image, used alike in training, evaluation and checks.

The result is always RGB, uint8, (3, H, W), upright. EXIF orientation is applied. Grey and 1-bit
images are repeated over the channels (1-bit "on" is 255), palettes are looked up, CMYK is
converted, an alpha channel is dropped (a transparent red stays red), 16 bits keep their upper 8,
and an animation gives its first frame. Floating-point images and wider integers are refused: they
have no white.
"""

from __future__ import annotations

import io
import re
import struct
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from reid_core.data.stores import FolderStore, ImageStore
from reid_core.errors import DataError

try:
    from torchvision.io import ImageReadMode
    from torchvision.io import decode_image as _decode_fast
except ImportError:  # deprecated since torchvision 0.29, where removal is announced
    _HAS_FAST_JPEG = False
else:
    # Not there in builds of torchvision without libjpeg.
    _HAS_FAST_JPEG = hasattr(torch.ops.image, "decode_image")

#: Larger images are refused: one damaged byte in a header can claim 65535 × 65535 pixels, and
#: 12 GB would be allocated before the decoder notices.
MAX_PIXELS = 2**27

#: Bytes by which Pillow tells formats apart.
_PREFIX = 16
_MAX_16_BITS = 2**16 - 1
_JPEG_START = b"\xff\xd8\xff"
#: Markers of a JPEG frame header (SOF0..SOF15 but DHT, JPG and DAC), which holds the size.
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: What torchvision puts before its words: "decode_jpeg, /…/decode_jpeg.cpp:171, ".
_SOURCE_PLACE = re.compile(r"^.*\.cpp:\d+, ")


class BrokenImageError(DataError):
    """A file that cannot be read as an image."""


def read_image(path: Path | str) -> Tensor:
    """Read one image file.

    Args:
        path: The file.

    Returns:
        (3, H, W) uint8, RGB.

    Raises:
        BrokenImageError: The file is missing, empty, cut short, too large, or no image.
    """
    return read_stored(FolderStore(""), str(path))


def read_stored(store: ImageStore, path: str) -> Tensor:
    """Read one image of a store.

    Args:
        store: Where the bytes are.
        path: The image's name there.

    Returns:
        (3, H, W) uint8, RGB.

    Raises:
        BrokenImageError: As :func:`read_image`; it says where the image is.
    """
    try:
        data = store.read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BrokenImageError(f"image {store.locate(path)} cannot be opened: {reason}") from error
    return decode_image(data, store.locate(path))


def decode_image(data: bytes, name: str) -> Tensor:
    """Decode the bytes of an image file.

    Args:
        data: The file's content, whatever its format.
        name: What to call it in an error.

    Returns:
        (3, H, W) uint8, RGB, the channels last in memory.

    Raises:
        BrokenImageError: The content is empty, cut short, too large, or no image.
    """
    if not data:
        raise BrokenImageError(f"image {name} is empty (0 bytes)")
    try:
        return _decode(data)
    except Exception as error:
        # Any: on damaged bytes decoders also raise struct.error, zlib.error, EOFError, KeyError, …
        raise BrokenImageError(f"image {name} is broken: {_reason(error)}") from error


def _decode(data: bytes) -> Tensor:
    # torchvision decodes JPEG 2.4 times as fast as Pillow, to the same bits. Its PNG decoder is no
    # faster at the sizes of crops, and crashes the process on damaged data (seen in 0.29).
    if _HAS_FAST_JPEG and data.startswith(_JPEG_START):
        _require_size(*_jpeg_size(data))
        buffer = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        image: Tensor = _decode_fast(buffer, mode=ImageReadMode.RGB, apply_exif_orientation=True)
        return image
    with open_image(data) as opened:
        _require_size(*opened.size)
        opened.load()
        ImageOps.exif_transpose(opened, in_place=True)
        return torch.from_numpy(_to_rgb(opened))


def open_image(data: bytes) -> Image.Image:
    """Open an image with Pillow, whatever its size; its pixels are not decoded.

    ``Image.open`` warns of images from 89 million pixels on, and refuses them from 179 million on,
    in words of its own. Which sizes are read is said here.

    Args:
        data: The file's content.

    Raises:
        UnidentifiedImageError: It is no image of a known format.
    """
    for load_formats in (Image.preinit, Image.init):
        load_formats()
        for name in tuple(Image.ID):
            factory, accepts = Image.OPEN[name]
            accepted = accepts is None or accepts(data[:_PREFIX])
            if not accepted or isinstance(accepted, str):  # text says which library is missing
                continue
            try:
                return factory(io.BytesIO(data), "")
            except (SyntaxError, IndexError, TypeError, struct.error):
                continue  # what Pillow takes for: it is of another format
    raise UnidentifiedImageError


def _require_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise ValueError(f"it claims {width} × {height} pixels, more than {MAX_PIXELS}")


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return width and height from the frame header; (0, 0) where the decoder will find none."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker in _FRAME_MARKERS:
            height = int.from_bytes(data[position + 5 : position + 7], "big")
            return int.from_bytes(data[position + 7 : position + 9], "big"), height
        if marker == 0xFF:  # a fill byte before the marker
            position += 1
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return 0, 0


def _to_rgb(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode == "F":
        raise ValueError("it holds floating-point numbers; convert it to 8 or 16 bits")
    if image.mode.startswith("I;16") or image.mode == "I":
        wide = np.asarray(image, dtype=np.int64)
        low, high = int(wide.min()), int(wide.max())
        if low < 0 or high > _MAX_16_BITS:
            raise ValueError(
                f"its pixels are integers of {low} to {high}; convert it to 8 or 16 bits, 0 to "
                f"{_MAX_16_BITS}"
            )
        return _grey((wide >> 8).astype(np.uint8))
    if image.mode == "L":
        return _grey(np.asarray(image))
    if image.mode in ("P", "PA"):
        image = image.convert("RGBA")
    # A copy, since the image's own pixels cannot be written to. Channels stay last in memory.
    return np.array(image if image.mode == "RGB" else image.convert("RGB")).transpose(2, 0, 1)


def _grey(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(values[:, :, None], 3, axis=2).transpose(2, 0, 1)


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is no image of a known format"
    lines = str(error).splitlines()
    return _SOURCE_PLACE.sub("", lines[0]) if lines else type(error).__name__
