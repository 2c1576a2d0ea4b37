"""What one image is, as numbers that fit into a row of an array."""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.data.image_reader import open_image
from reid_core.doctor.fingerprint import fingerprint, shrunk
from reid_core.doctor.thumbnails import COARSE, FINE

#: How the pixels of a file are kept; the position is the code in an array.
KINDS = (
    "colour",
    "grey",
    "alpha",
    "palette",
    "CMYK",
    "16-bit",
    "1-bit",
    "animated",
)

#: Formats by Pillow's name, and the suffixes that say so.
FORMATS: dict[str, tuple[str, ...]] = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "MPO": (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    "PNG": (".png", ".apng"),
    "BMP": (".bmp", ".dib"),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
}
FORMAT_NAMES = (*FORMATS, "other")

#: One image; ``inside`` is the part of its box that lies in the image of the file. Digests have 64
#: bits, so that two of a million differ with a chance of 1 − 3e-8.
FACTS = np.dtype(
    [
        ("is_read", "?"),
        ("format", "u1"),
        ("kind", "u1"),
        ("orientation", "u1"),
        ("is_blank", "?"),
        ("is_cut", "?"),
        ("width", "i4"),
        ("height", "i4"),
        ("inside", "f4"),
        ("brightness", "f4"),
        ("contrast", "f4"),
        ("file_digest", "u8"),
        ("pixel_digest", "u8"),
        ("print", "u8", (3,)),
        ("mirror_print", "u8", (3,)),
    ]
)

_BY_MODE = {
    "1": "1-bit",
    "L": "grey",
    "LA": "alpha",
    "La": "alpha",
    "RGBA": "alpha",
    "RGBa": "alpha",
    "P": "palette",
    "PA": "palette",
    "CMYK": "CMYK",
    "I": "16-bit",
}
_ORIENTATION = 0x0112
#: Place of the bits a channel in a PNG file.
_PNG_DEPTH = 24
#: Grey values that noise of a single colour stays within, as a standard deviation.
_BLANK_DEVIATION = 2.0


class Header(NamedTuple):
    """What a file says about itself.

    Args:
        format: Position in ``FORMAT_NAMES``.
        kind: Position in ``KINDS``.
        orientation: The EXIF orientation, 1 where there is none.
        is_cut: Whether a JPEG or PNG file ends before its end marker.
    """

    format: int
    kind: int
    orientation: int
    is_cut: bool


def read_header(data: bytes) -> Header:
    """Read what a file says about itself; it has been decoded before, so it is an image."""
    with open_image(data) as image:
        name = image.format if image.format in FORMATS else "other"
        is_jpeg = name in ("JPEG", "MPO")
        # An MPO file is a photograph with its preview: a telephone's, no animation.
        is_animated = not is_jpeg and getattr(image, "n_frames", 1) > 1
        kind = "animated" if is_animated else _kind(image.mode, data, name)
        orientation = image.getexif().get(_ORIENTATION, 1)
    return Header(
        FORMAT_NAMES.index(name),
        KINDS.index(kind),
        orientation if orientation in range(1, 9) else 1,
        _is_cut(data, name),
    )


def describe_pixels(
    facts: NDArray[np.void], image: Tensor, thumbnail: NDArray[np.void] | None = None
) -> None:
    """Fill in what the pixels tell.

    Args:
        facts: One element of :data:`FACTS`; ``kind`` is filled in, and changed to grey for an image
            that is kept in colour and has none.
        image: (3, H, W) uint8.
        thumbnail: One element of :data:`~reid_core.doctor.thumbnails.THUMBNAIL`, filled in too.
    """
    pixels = np.ascontiguousarray(image.permute(1, 2, 0).numpy())
    facts["height"], facts["width"] = pixels.shape[:2]
    size = struct.pack("<II", *pixels.shape[:2])
    facts["pixel_digest"] = digest(size + pixels.tobytes())
    deviation = pixels.reshape(-1, 3).std(axis=0, dtype=np.float32).max()
    facts["contrast"] = deviation
    facts["is_blank"] = deviation < _BLANK_DEVIATION
    facts["brightness"] = pixels.mean(dtype=np.float32)
    if facts["kind"] == KINDS.index("colour") and _is_grey(pixels):
        facts["kind"] = KINDS.index("grey")
    coarse = shrunk(pixels, COARSE)
    facts["print"], facts["mirror_print"] = fingerprint(coarse)
    if thumbnail is not None:
        thumbnail["fine"], thumbnail["coarse"] = shrunk(pixels, FINE), coarse
    facts["is_read"] = True


def digest(data: bytes) -> int:
    """Return a number of 64 bits that tells contents apart."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _is_cut(data: bytes, name: str) -> bool:
    if name in ("JPEG", "MPO"):
        return b"\xff\xd9" not in data[data.rfind(b"\xff\xda") :]
    return name == "PNG" and b"IEND" not in data


def _kind(mode: str, data: bytes, name: str) -> str:
    if mode.startswith("I;16") or (name == "PNG" and data[_PNG_DEPTH] == 16):
        return "16-bit"
    return _BY_MODE.get(mode, "colour")


def _is_grey(pixels: NDArray[np.uint8]) -> bool:
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    return bool(np.array_equal(red, green) and np.array_equal(green, blue))
