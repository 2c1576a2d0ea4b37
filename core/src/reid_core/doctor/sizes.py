"""Images whose size, shape or brightness is far from that of the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.doctor.finding import Finding, counted, some

#: Pixels above which decoding costs more than everything else.
HUGE = 2**24
#: A side that leaves nothing to see.
TINY = 8

#: Standard deviations from the middle, estimated by the middle deviation, that are too many.
_DEVIATIONS = 6.0
#: An image with less contrast than this, in a set where the middle one has three times as much.
_FAINT = 8.0
#: And the least distance that counts: a factor of 4 in area, 2.5 in aspect, 64 of 255 grey values.
_AREA, _ASPECT, _BRIGHTNESS = 2.0, 1.32, 64.0


def check_sizes(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    """Find images that are huge, tiny, of another size or shape, dark, bright or faint.

    Args:
        manifest: The rows.
        facts: What their images are.
    """
    rows = np.flatnonzero(facts["is_read"])
    if not len(rows):
        return
    width = facts["width"][rows].astype(np.float64)
    height = facts["height"][rows].astype(np.float64)
    area = np.log2(width * height)
    huge = width * height > HUGE
    tiny = np.minimum(width, height) < TINY
    size = _is_far(area, _AREA) & ~huge & ~tiny
    aspect = _is_far(np.log2(width / height), _ASPECT) & ~tiny
    middle = f"{np.median(width):g} × {np.median(height):g}"
    for code, chosen, what, advice in (
        (
            "huge-images",
            huge,
            f"more than {HUGE >> 20} million pixels",
            "make them smaller once, so that not every epoch decodes them: reid-data pack "
            "--max-side 512",
        ),
        (
            "tiny-images",
            tiny,
            f"a side of less than {TINY} pixels",
            "take them out; nothing can be seen on them",
        ),
        (
            "size-outliers",
            size,
            f"a size far from that of the others (in the middle {middle})",
            "look at them; a crop that went wrong is better taken out",
        ),
        (
            "aspect-outliers",
            aspect,
            f"a shape far from that of the others (in the middle {middle})",
            "look at them; data.resize=letterbox keeps shapes as they are",
        ),
    ):
        if chosen.any():
            yield _sized(manifest, facts, code, rows[chosen], what, advice)
    yield from _brightness(manifest, facts)
    yield from _faint(manifest, facts)


def _brightness(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    rows = np.flatnonzero(facts["is_read"] & ~facts["is_blank"])
    far = rows[_is_far(facts["brightness"][rows].astype(np.float64), _BRIGHTNESS)]
    if len(far):
        yield Finding(
            "brightness-outliers",
            "warning",
            manifest.name,
            f"{counted(len(far), 'image is', 'images are')} much darker or brighter than the "
            f"others (in the middle {np.median(facts['brightness'][rows]):.0f} of 255)",
            "look at them: they may be negatives, or failed exposures",
            len(far),
            some(f"{manifest.paths[row]} ({facts['brightness'][row]:.0f})" for row in far),
        )


def _faint(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    rows = np.flatnonzero(facts["is_read"] & ~facts["is_blank"])
    contrast = facts["contrast"][rows]
    faint = rows[contrast < _FAINT]
    if len(faint) and np.median(contrast) >= 3 * _FAINT:
        yield Finding(
            "faint-images",
            "warning",
            manifest.name,
            f"{counted(len(faint), 'image has', 'images have')} hardly any contrast",
            "look at them: there may be nothing on them",
            len(faint),
            some(manifest.paths[faint]),
        )


def _sized(
    manifest: Manifest,
    facts: NDArray[np.void],
    code: str,
    rows: NDArray[np.intp],
    what: str,
    advice: str,
) -> Finding:
    sizes = zip(facts["width"][rows], facts["height"][rows], strict=True)
    return Finding(
        code,
        "warning",
        manifest.name,
        f"{counted(len(rows), 'image has', 'images have')} {what}",
        advice,
        len(rows),
        some(
            f"{manifest.paths[row]} ({width} × {height})"
            for row, (width, height) in zip(rows, sizes, strict=True)
        ),
    )


def _is_far(values: NDArray[np.float64], least: float) -> NDArray[np.bool_]:
    """Say which values are far from the middle one; the middle deviation is not moved by them."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    distance = np.abs(values - np.median(values))
    deviation = 1.4826 * float(np.median(distance))
    return np.asarray(distance >= max(least, _DEVIATIONS * deviation), dtype=bool)
