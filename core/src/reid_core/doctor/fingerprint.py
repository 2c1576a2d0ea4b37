"""A short code of what an image looks like: nearly equal images have nearly equal codes.

An image is made 16 × 16, and each bit of the code says on which side of a plane through the origin
its contrasts lie. Two images whose small versions correlate by c differ in a share acos(c) / π of
the bits (Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reid_core.doctor.thumbnails import COARSE

#: Bits of a code, kept as three numbers of 64.
NUM_BITS = 192

_SIDE = COARSE


def fingerprint(square: NDArray[np.uint8]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the codes of an image and of its mirror image.

    Args:
        square: (16, 16, 3) uint8, the image made small.

    Returns:
        Two arrays (3,) uint64.
    """
    small = square.astype(np.float32)
    small -= small.mean()
    return _code(small), _code(small[:, ::-1])


def shrunk(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return an image as a square of ``side`` pixels, (side, side, 3) uint8, antialiased."""
    resized = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(resized)


def _code(small: NDArray[np.float32]) -> NDArray[np.uint64]:
    bits = np.packbits(_planes() @ small.ravel() > 0)
    return bits.view(np.uint64)


@cache
def _planes() -> NDArray[np.float32]:
    rng = np.random.default_rng(20151501)
    return rng.standard_normal((NUM_BITS, _SIDE * _SIDE * 3), dtype=np.float32)
