"""The entry: settings in, manifest out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.synthetic.backgrounds import place_of
from reid_core.data.datasets.synthetic.cameras import lens_of
from reid_core.data.datasets.synthetic.columns import columns
from reid_core.data.datasets.synthetic.difficulty import Difficulty
from reid_core.data.datasets.synthetic.plan import Picture, plan
from reid_core.data.datasets.synthetic.scene import Camera, draw
from reid_core.data.datasets.synthetic.settings import GENERATOR_VERSION, Settings
from reid_core.data.datasets.synthetic.store import ensure_drawn
from reid_core.data.datasets.synthetic.streams import Stream
from reid_core.data.manifest import Manifest
from reid_core.paths import cache_dir, resolve_root


def synthetic(
    *,
    root: str | Path | None = None,
    seed: int = 0,
    identities: int = 150,
    test_identities: int = 60,
    cameras: int = 5,
    shots: int = 3,
    difficulty: Difficulty = "normal",
) -> Manifest:
    """Return pedestrians drawn by the program, split as Market-1501 is.

    The first call draws the pictures (128 by 64 pixels) into a folder in the cache; later calls
    find them there. The pixels are the same on every machine; the bytes of the PNG files may
    differ with the version of zlib.

    The people of the test are not those of the training. Each test identity has one query picture
    a camera, the others are in the gallery, which also holds distractors of identity 0. Cameras
    differ in colour cast, contrast, sharpness and place; pictures in view, pose, framing, light,
    obstacles and passers-by; some people are dressed like another but for one trait.

    Args:
        root: Folder to keep the pictures under; None is the cache folder.
        seed: 0 or more; another seed gives other people, places and cameras.
        identities: People to train on, 2 to 4000.
        test_identities: People to be found again, 2 to 4000.
        cameras: Cameras, 2 to 8; each one sees every person.
        shots: Pictures of a person by a camera, 2 to 99.
        difficulty: How strong casts, noise and hiding are, and how many people look alike.

    Returns:
        The manifest, sorted by path; pids are 1.. in training, the numbers that follow in the
        test, 0 for distractors; camids count from 1. Further columns are ``viewids`` and
        ``attributes``; see :mod:`reid_core.data.datasets.synthetic.columns`.

    Raises:
        DataError: A parameter is out of range, the folder cannot be written, or pictures have
            vanished from it.

    Source:
        Original.
    """
    settings = Settings(seed, identities, test_identities, cameras, shots, difficulty)
    parent = cache_dir() / "synthetic" if root is None else resolve_root(root)
    folder = parent / settings.folder_name
    pictures = plan(settings)
    ensure_drawn(folder, pictures, _artist(settings))
    return Manifest(
        name="synthetic",
        root=folder,
        paths=np.array([picture.path for picture in pictures], dtype=np.str_),
        pids=np.array([picture.pid for picture in pictures], dtype=np.int64),
        camids=np.array([picture.camid for picture in pictures], dtype=np.int64),
        splits=np.array([picture.split for picture in pictures], dtype=np.str_),
        columns=columns(pictures, settings.profile),
        notes=(f"drawn by the program (generator version {GENERATOR_VERSION}), not photographs",),
        distractors=(0,),
    )


def _artist(settings: Settings) -> Callable[[Picture], NDArray[np.uint8]]:
    """Return what draws one picture of the data set."""
    cameras = [
        Camera(place_of(settings.seed, number), lens_of(settings.seed, number, settings.profile))
        for number in range(settings.cameras)
    ]

    def paint(picture: Picture) -> NDArray[np.uint8]:
        camera = cameras[picture.camid - 1]
        return draw(picture.person, camera, settings.profile, Stream(*picture.key))

    return paint
