"""Pictures laid over each other, one of each two scaled and shifted a little.

Many pairs are looked at together. A scale and a shift along the sides are two matrices, one for
the rows of a picture and one for its columns, so that moving pictures is a product of matrices.

Source: Lucas and Kanade, An Iterative Image Registration Technique, IJCAI 1981.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

#: Steps at the first size, and at the second one, which is twice as large.
_STEPS, _MORE_STEPS = 6, 3
#: Most that one is scaled, and shifted as a part of the side; the border that does not count then.
_MAX_SCALE, _MAX_SHIFT, _BORDER = 0.12, 0.1, 1 / 8
#: Pixels of which details are smaller.
_DETAIL = 4


class Overlay(NamedTuple):
    """How alike pictures are when they are laid over each other.

    Args:
        motion: (P, 4) scale x and y less 1, shift x and y in pixels.
        correlation: (P,) of all pixels.
        details: (P,) correlation of what is smaller than 4 pixels: noise, texture, edges.
    """

    motion: NDArray[np.float64]
    correlation: NDArray[np.float32]
    details: NDArray[np.float32]


def lay_over(
    one: NDArray[np.float32],
    other: NDArray[np.float32],
    start: NDArray[np.float64] | None = None,
) -> Overlay:
    """Scale and shift pictures until each lies on another one, and compare them.

    Args:
        one: (P, S, S, 3).
        other: (P, S, S, 3), those that are moved.
        start: (P, 4) the motion at half the size; few steps are taken from there.
    """
    if start is None:
        motion, steps = np.zeros((len(one), 4)), _STEPS
    else:
        motion, steps = start * (1.0, 1.0, 2.0, 2.0), _MORE_STEPS
    motion = _motion(_grey(one), _grey(other), motion, steps)
    still = np.moveaxis(one, 3, 1)
    moved = move(np.moveaxis(other, 3, 1), motion)
    return Overlay(
        motion, _correlation(still, moved), _correlation(_details(still), _details(moved))
    )


def move(pictures: NDArray[np.float32], motion: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scale pictures about their middle, and shift them; what comes from outside is 0.

    Args:
        pictures: (P, C, S, S).
        motion: (P, 4) as in :class:`Overlay`.

    Returns:
        (P, C, S, S).
    """
    side = pictures.shape[-1]
    down = _weights(motion[:, 1], motion[:, 3], side)[:, None]
    across = _weights(motion[:, 0], motion[:, 2], side)[:, None]
    return np.asarray(down @ pictures @ across.swapaxes(2, 3), dtype=np.float32)


def _motion(
    one: NDArray[np.float32],
    other: NDArray[np.float32],
    motion: NDArray[np.float64],
    steps: int,
) -> NDArray[np.float64]:
    """Return the motion that lays the others on the ones (P, S, S)."""
    number, side = one.shape[:2]
    inner = _inner(side)
    rows, columns = (np.mgrid[:side, :side] - (side - 1) / 2)[:, inner, inner]
    limits = np.array([_MAX_SCALE, _MAX_SCALE, _MAX_SHIFT * side, _MAX_SHIFT * side])
    target = one[:, inner, inner].reshape(number, -1, 1).astype(np.float64)
    design = np.ones((number, 6, *rows.shape))
    for _ in range(steps):
        moved = move(other[:, None], motion)[:, 0]
        design[:, 2] = np.gradient(moved, axis=2)[:, inner, inner]
        design[:, 3] = np.gradient(moved, axis=1)[:, inner, inner]
        design[:, 0], design[:, 1] = design[:, 2] * columns, design[:, 3] * rows
        design[:, 4] = moved[:, inner, inner]
        terms = design.reshape(number, 6, -1)
        square = terms @ terms.swapaxes(1, 2)
        # A picture without edges says nothing about how it moved.
        square += 1e-6 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(6)
        solution = np.linalg.solve(square, terms @ target)[..., 0]
        # The contrast, which is estimated with it, scales the gradient.
        change = solution[:, :4] / np.maximum(solution[:, 4:5], 0.2)
        motion = np.clip(motion + change, -limits, limits)
    return motion


def _weights(
    scale: NDArray[np.float64], shift: NDArray[np.float64], side: int
) -> NDArray[np.float32]:
    """Return what each place takes from each place (P, S, S), by Pillow's bicubic curve."""
    middle = (side - 1) / 2
    places = middle + (1 + scale[:, None]) * (np.arange(side) - middle) + shift[:, None]
    first = np.floor(places)
    rest = places - first
    square, cube = rest**2, rest**3
    is_inside = (places >= -0.5) & (places < side - 0.5)
    weights = np.zeros((len(scale), side, side), dtype=np.float32)
    pair, place = np.ogrid[: len(scale), :side]
    for step, weight in enumerate(
        (-rest + 2 * square - cube, 1 - 2 * square + cube, rest + square - cube, cube - square), -1
    ):
        taken = np.clip(first + step, 0, side - 1).astype(np.intp)
        weights[pair, place, taken] += (weight * is_inside).astype(np.float32)
    return weights


def _details(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what is left of pictures (P, C, S, S) without their smooth versions."""
    smooth = _smoothing(pictures.shape[-1])
    return np.asarray(pictures - smooth @ pictures @ smooth.T, dtype=np.float32)


def _smoothing(side: int) -> NDArray[np.float32]:
    """Return the matrix (side, side) of means of 4 pixels, enlarged by Pillow's bilinear rule."""
    means = np.kron(np.eye(side // _DETAIL), np.full(_DETAIL, 1 / _DETAIL)).astype(np.float32)
    return np.asarray(Image.fromarray(means).resize((side, side), Image.Resampling.BILINEAR))


def _grey(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    # Sums of three are slow as a mean along an axis of three.
    return (pictures[..., 0] + pictures[..., 1] + pictures[..., 2]) / np.float32(3)


def _correlation(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the correlations of pictures (P, C, S, S) without their borders, (P,)."""
    inner = _inner(one.shape[-1])
    left = one[..., inner, inner].reshape(len(one), -1)
    right = other[..., inner, inner].reshape(len(other), -1)
    left = left - left.mean(axis=1, keepdims=True)
    right = right - right.mean(axis=1, keepdims=True)
    energy = (left * left).sum(axis=1) * (right * right).sum(axis=1)
    product = (left * right).sum(axis=1)
    return np.where(energy > 0, product / np.sqrt(np.maximum(energy, 1e-12)), 0).astype(np.float32)


def _inner(side: int) -> slice:
    border = int(side * _BORDER)
    return slice(border, side - border)
