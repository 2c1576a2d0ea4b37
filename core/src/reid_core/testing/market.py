"""A data set of a few coloured rectangles in Market-1501's layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def write_tiny_market(
    root: Path,
    *,
    train_identities: int = 6,
    test_identities: int = 4,
    shots: int = 4,
    size: tuple[int, int] = (32, 16),
) -> Path:
    """Write images that a network of one layer learns to tell apart, in spite of the cameras.

    The two cameras differ by a colour cast that is as large as the difference of two identities, so
    that an untrained network does not find everybody.

    Args:
        root: A folder; made if missing.
        train_identities: Identities to train on, numbered from 1.
        test_identities: Further ones, in query (one image a camera) and gallery.
        shots: Training images of an identity in each of 2 cameras; the gallery has one less.
        size: Height and width in pixels.

    Returns:
        ``root``.
    """
    first_test = train_identities + 1
    everyone = range(1, first_test + test_identities)
    for folder, pids, count in (
        ("bounding_box_train", everyone[:train_identities], shots),
        ("query", everyone[train_identities:], 1),
        ("bounding_box_test", everyone[train_identities:], shots - 1),
    ):
        (root / folder).mkdir(parents=True, exist_ok=True)
        for pid in pids:
            colour = np.random.default_rng(pid).integers(68, 189, 3)
            for camera, cast in ((1, (0, 0, 0)), (2, (50, -30, 20))):
                for shot in range(count):
                    noise = np.random.default_rng((pid, camera, shot)).integers(-60, 61, (*size, 3))
                    pixels = np.clip(colour + cast + noise, 0, 255).astype(np.uint8)
                    name = f"{pid:04d}_c{camera}s1_{shot:06d}_00.png"
                    Image.fromarray(pixels).save(root / folder / name)
    return root
