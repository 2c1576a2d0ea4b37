"""Whether two pictures are copies of each other, by their pixels.

The limits were measured on drawings, on drawn people and on photographs of animals. Copies were
made smaller and larger, compressed, blurred, brightened, made noisy, shifted, and cut at the edges
by up to two pixels of 64. What they have to stay apart from are the most alike pictures that are no
copies: frames of somebody who hardly moves, and people who are dressed alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reid_core.doctor.laid_over import Overlay, lay_over

#: Side of the squares in which details are compared, in pixels.
SHARP = 64

#: Blocks a side, each of which has to be alike.
_BLOCKS = 8
#: Frames reach 0.983 and 0.38 in the fine size, 0.992 and 0.28 in the coarse one.
_FINE_LIMITS, _COARSE_LIMITS = (0.984, 0.34), (0.994, 0.26)
#: Correlation in the coarse size below which they are not laid over each other.
_WORTH_LAYING_OVER = 0.8
#: Correlation in the fine size, when they are laid over each other, below which they are no copies:
#: those that are found in the end reach at least 0.984.
_HOPELESS = 0.97
#: Pictures of two identities reach 0.98 and 0.935 when they are laid over each other, copies that
#: were shifted or cut at least 0.985 and 0.971.
_MIN_OVERLAY, _MIN_DETAILS = 0.98, 0.955


class Pictures(NamedTuple):
    """Pictures in the sizes that are compared first, each made of all its pixels.

    Args:
        fine: (P, 32, 32, 3) float32.
        coarse: (P, 16, 16, 3) float32.
    """

    fine: NDArray[np.float32]
    coarse: NDArray[np.float32]

    def turned(self) -> Pictures:
        """Return them with left and right exchanged."""
        return Pictures(self.fine[:, :, ::-1], self.coarse[:, :, ::-1])


class Likeness(NamedTuple):
    """How alike pictures are, brightness and contrast apart.

    Args:
        correlation: (P,) of all pixels, 1 for copies.
        worst_block: (P,) largest difference of a block, as a part of the standard deviation.
    """

    correlation: NDArray[np.float32]
    worst_block: NDArray[np.float32]

    def reaches(self, correlation: float, worst_block: float) -> NDArray[np.bool_]:
        """Say which are at least that good, (P,)."""
        return np.asarray(
            (self.correlation >= correlation) & (self.worst_block <= worst_block), dtype=bool
        )


class Match(NamedTuple):
    """What small versions of pictures tell.

    Args:
        is_copy: (P,) bool, the two are copies.
        may_be_copy: (P,) bool, they may turn out to be copies when they are looked at in detail.
        is_mirrored: (P,) bool, the second is more alike with left and right exchanged.
        motion: (P, 4) how the second one was moved, as :class:`~laid_over.Overlay` has it.
    """

    is_copy: NDArray[np.bool_]
    may_be_copy: NDArray[np.bool_]
    is_mirrored: NDArray[np.bool_]
    motion: NDArray[np.float64]


def match(one: Pictures, other: Pictures, *, is_same_identity: NDArray[np.bool_]) -> Match:
    """Say which pictures are copies, one of them mirrored perhaps.

    Pictures of two identities are also laid over each other, which finds copies that were shifted
    or cut at the edges. Those of one identity are not: neighbouring frames would become copies.

    Args:
        one: P pictures.
        other: P other ones.
        is_same_identity: (P,) whether they have one identity.
    """
    number = len(one.fine)
    is_copy = np.zeros(number, dtype=bool)
    correlations = []
    for candidate in (other, other.turned()):
        coarse = likeness(one.coarse, candidate.coarse)
        is_copy |= coarse.reaches(*_COARSE_LIMITS)
        is_copy |= likeness(one.fine, candidate.fine).reaches(*_FINE_LIMITS)
        correlations.append(coarse.correlation)
    is_mirrored = correlations[1] > correlations[0]
    is_promising = np.maximum(*correlations) >= _WORTH_LAYING_OVER
    motion = np.zeros((number, 4))
    may_be_copy = np.zeros(number, dtype=bool)
    rows = np.flatnonzero(~is_copy & ~is_same_identity & is_promising)
    if len(rows):
        overlay = lay_over(one.fine[rows], mirrored(other.fine[rows], is_mirrored[rows]))
        motion[rows] = overlay.motion
        may_be_copy[rows] = overlay.correlation >= _HOPELESS
    return Match(is_copy, may_be_copy, is_mirrored, motion)


def is_same_in_detail(overlay: Overlay) -> NDArray[np.bool_]:
    """Say which pictures (P, 64, 64, 3) that were laid over each other are copies, (P,)."""
    return np.asarray(
        (overlay.correlation >= _MIN_OVERLAY) & (overlay.details >= _MIN_DETAILS), dtype=bool
    )


def mirrored(pictures: NDArray[np.float32], is_mirrored: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return pictures (P, S, S, 3), some of them with left and right exchanged."""
    return np.where(is_mirrored[:, None, None, None], pictures[:, :, ::-1], pictures)


def likeness(one: NDArray[np.float32], other: NDArray[np.float32]) -> Likeness:
    """Compare pictures (P, S, S, 3), the side a multiple of 8."""
    number, side = one.shape[:2]
    left = one - one.mean(axis=(1, 2, 3), keepdims=True)
    right = other - other.mean(axis=(1, 2, 3), keepdims=True)
    energy, other_energy = (_sums(picture * picture) for picture in (left, right))
    product = _sums(left * right)
    is_alike = (product > 0) & (other_energy > 0)
    energy, other_energy = np.where(is_alike, energy, 1), np.where(is_alike, other_energy, 1)
    rest = right - left * (product / energy)[:, None, None, None]
    width = side // _BLOCKS
    # Along the rows first, where pixels are neighbours in memory: four times as fast.
    lines = (rest * rest).reshape(number, side, _BLOCKS, width * 3).sum(axis=3)
    blocks = lines.reshape(number, _BLOCKS, width, _BLOCKS).sum(axis=2)
    deviation = np.sqrt(other_energy / (side * side * 3))
    worst = np.sqrt(blocks.max(axis=(1, 2)) / (width * width * 3)) / deviation
    return Likeness(
        np.where(is_alike, product / np.sqrt(energy * other_energy), 0).astype(np.float32),
        np.where(is_alike, worst, np.inf).astype(np.float32),
    )


def _sums(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    sums: NDArray[np.float32] = pictures.sum(axis=(1, 2, 3))
    return sums
