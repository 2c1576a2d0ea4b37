"""Pictures on disk: drawn once, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reid_core.data.datasets.synthetic.plan import Picture
from reid_core.errors import DataError
from reid_core.progress import track

Draw = Callable[[Picture], NDArray[np.uint8]]


def ensure_drawn(folder: Path, pictures: Sequence[Picture], draw: Draw) -> None:
    """Draw ``pictures`` into ``folder`` unless they are there.

    They are drawn into a sibling folder that is renamed when it is whole, so that an interrupted
    run leaves no ``folder``. Of two processes that draw at once, the later one throws its own
    away.

    Args:
        folder: Where the pictures are kept; its name stands for all that they depend on.
        pictures: What belongs in it.
        draw: Makes the pixels (H, W, 3) uint8 of one picture.

    Raises:
        DataError: The folder cannot be written, or pictures have vanished from it.
    """
    if not folder.is_dir():
        try:
            _draw_aside(folder, pictures, draw)
        except OSError as error:
            raise DataError(
                f"data set synthetic: cannot draw into {folder.parent}: {error}; "
                "name a folder that can be written with `root`, or set REID_CACHE to one"
            ) from error
    _check_whole(folder, pictures)


def _draw_aside(folder: Path, pictures: Sequence[Picture], draw: Draw) -> None:
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        for name in sorted({Path(picture.path).parent for picture in pictures}):
            (aside / name).mkdir(parents=True, exist_ok=True)
        for picture in track(
            pictures, total=len(pictures), description="drawing synthetic pictures, once"
        ):
            # Level 3 takes a third of the time of the usual 6 for files a tenth larger.
            Image.fromarray(draw(picture)).save(aside / picture.path, "PNG", compress_level=3)
        _publish(aside, folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _publish(aside: Path, folder: Path) -> None:
    try:
        aside.rename(folder)
    except OSError:
        # Another process was faster; what it drew has the same pixels.
        if not folder.is_dir():
            raise


def _check_whole(folder: Path, pictures: Sequence[Picture]) -> None:
    present = {path.relative_to(folder).as_posix() for path in folder.glob("*/*.png")}
    missing = sorted({picture.path for picture in pictures} - present)
    if missing:
        raise DataError(
            f"data set synthetic: {len(missing)} of {len(pictures)} pictures have vanished from "
            f"{folder}, the first is {missing[0]}; delete that folder and it is drawn again"
        )
