"""Boxes that cannot hold anything, or hang over the edge of their image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.data.manifest import Manifest
from reid_core.doctor.finding import Finding, counted, some

#: A box with less of its area inside hangs over the edge; annotators overshoot by less.
_OVER = 0.95
#: A box with less inside was not drawn so.
_FAR = 0.5
#: More of all boxes than this part hang over the edge by mistake.
_MANY = 0.5


def check_boxes(manifest: Manifest) -> Iterator[Finding]:
    """Find boxes that cannot hold anything; those outside of their image need its size."""
    boxes = manifest.columns.get("boxes")
    if boxes is None or not len(manifest):
        return
    numbers = boxes.astype(np.float64)
    is_number = np.isfinite(numbers)
    is_whole = np.isnan(numbers).all(axis=1)
    with np.errstate(invalid="ignore"):
        bad = ~is_whole & (~is_number.all(axis=1) | (numbers[:, 2:] <= 0).any(axis=1))
    if number := int(bad.sum()):
        rows = np.flatnonzero(bad)
        yield Finding(
            "bad-boxes",
            "error",
            manifest.name,
            f"{counted(number, 'box is', 'boxes are')} empty or incomplete",
            "a box is x, y, width and height in pixels, both sizes above 0; leave all four out for "
            "the whole image",
            number,
            some(f"row {row}: {manifest.paths[row]} {numbers[row].tolist()}" for row in rows),
        )


def check_edges(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    """Find boxes that hang over the edge of their image; those that lie outside are broken.

    Args:
        manifest: The rows.
        facts: What their images are.
    """
    boxes = manifest.columns.get("boxes")
    if boxes is None:
        return
    inside = facts["inside"]
    over = np.flatnonzero(facts["is_read"] & (inside < _OVER))
    if not len(over):
        return
    far = int((inside[over] < _FAR).sum())
    is_wrong = far > 0 or len(over) > _MANY * len(manifest)
    # The worst ones first.
    rows = over[np.argsort(inside[over], kind="stable")]
    yield Finding(
        "boxes-over-the-edge",
        "warning" if is_wrong else "info",
        manifest.name,
        f"{counted(len(over), 'box reaches', 'boxes reach')} outside of the image, of "
        f"{len(manifest)}; {far} by more than half of the box; what is outside is cut off",
        "a box is x, y, width and height in pixels of the upright image: check that they are not "
        "two corners, and that the image was not made smaller after they were drawn"
        if is_wrong
        else "nothing has to be done where people walk out of the image",
        len(over),
        some(
            f"row {row}: {manifest.paths[row]} {np.asarray(boxes[row]).tolist()} "
            f"({inside[row]:.0%} inside)"
            for row in rows
        ),
    )


def part_inside(box: Sequence[float], image: Tensor) -> float:
    """Return which part of a box's area lies inside of its image.

    Args:
        box: x, y, width and height in pixels, the sizes above 0.
        image: (3, H, W).
    """
    x, y, width, height = box
    across = min(x + width, image.shape[2]) - max(x, 0)
    down = min(y + height, image.shape[1]) - max(y, 0)
    return max(across, 0) * max(down, 0) / (width * height)
