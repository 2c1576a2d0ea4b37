"""What the cameras of a set look like."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reid_core.data.manifest import Manifest
from reid_core.doctor.finding import Finding, counted, some

#: A camera with less than this part of the images of the middle one hardly takes part.
_SCARCE = 0.05
#: A camera with so many times the images of the middle one outweighs the others.
_DOMINANT = 10


def check_cameras(manifest: Manifest) -> Iterator[Finding]:
    """Find cameras that are not known, hardly used, or new in the test."""
    if not len(manifest):
        return
    if not manifest.has_cameras:
        yield Finding(
            "no-cameras",
            "info",
            manifest.name,
            "the cameras are not known: camera filter off, the set is evaluated by protocol "
            "no_camera, and its figures are labelled so",
            "if the cameras are known, give them: column camid of a table, {camid} in a folder's "
            "pattern, camera=KEY of a COCO file",
            len(manifest),
        )
        return
    yield from _imbalance(manifest)
    yield from _new_in_test(manifest)


def _imbalance(manifest: Manifest) -> Iterator[Finding]:
    scarce: list[str] = []
    dominant: list[str] = []
    is_trained = manifest.splits == "train"
    for part, rows in (("training", is_trained), ("test", ~is_trained)):
        cameras, images = np.unique(manifest.camids[rows], return_counts=True)
        middle = float(np.median(images)) if len(images) else 0.0
        for camera, number in zip(cameras, images, strict=True):
            is_scarce = number < _SCARCE * middle
            if is_scarce or (len(cameras) > 2 and number >= _DOMINANT * middle):
                first = np.flatnonzero(rows & (manifest.camids == camera))[0]
                text = (
                    f"camera {camera} ({counted(int(number), 'image')} in {part}, {middle:g} in "
                    f"the middle, for example {manifest.paths[first]})"
                )
                (scarce if is_scarce else dominant).append(text)
    for code, found, what in (
        ("scarce-cameras", scarce, f"less than {_SCARCE:.0%} of"),
        ("dominant-cameras", dominant, f"at least {_DOMINANT} times"),
    ):
        if found:
            yield Finding(
                code,
                "warning",
                manifest.name,
                f"{counted(len(found), 'camera')} took {what} the images that the middle one took",
                "check that the camera is read right, from the file's name say; a camera with a "
                "handful of images is hardly learned",
                len(found),
                some(found),
            )


def _new_in_test(manifest: Manifest) -> Iterator[Finding]:
    is_trained = manifest.splits == "train"
    if not is_trained.any() or is_trained.all():
        return
    trained = np.unique(manifest.camids[is_trained])
    new = np.setdiff1d(manifest.camids[~is_trained], trained)
    if len(new):
        yield Finding(
            "cameras-not-trained",
            "info",
            manifest.name,
            f"{counted(len(new), 'camera')} of the test took no training image",
            "nothing has to be done; a model that is conditioned on cameras cannot be evaluated "
            "with them",
            len(new),
            some(f"camera {camera}" for camera in new),
        )
