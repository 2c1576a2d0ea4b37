"""Small pictures inside the page."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageOps

from reid_core.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from reid_core.data.image_rows import ImageRows

#: Width and height that a thumbnail must fit into, in pixels: the shape of a person crop.
MAX_SIZE = (64, 128)
JPEG_QUALITY = 80
#: Problem of a picture whose file is not where its record says.
NOT_FOUND = "file not found"


@dataclass(frozen=True)
class Picture:
    """A thumbnail, or the name of the file where there is none.

    Args:
        name: File name without its folders.
        uri: ``data:image/jpeg;base64,…``, or None where the file is missing or no image.
        problem: Why there is no thumbnail; empty where there is one.
    """

    name: str
    uri: str | None = None
    problem: str = ""

    @property
    def is_missing(self) -> bool:
        """Whether there is no file."""
        return self.problem == NOT_FOUND


def picture(path: str, box: tuple[float, float, float, float] | None = None) -> Picture:
    """Make a thumbnail of an image file; the proportions stay, nothing is enlarged.

    Args:
        path: The image file. One that is missing or damaged is no error: the run is over, and
            the data set may have moved.
        box: The part of the upright image to show, x, y, width and height in pixels; None is all
            of it.

    Returns:
        The picture, at most 64 × 128 pixels.
    """
    name = Path(path).name
    try:
        small = _whole(path) if box is None else _part(path, box)
    except FileNotFoundError:
        return Picture(name, problem=NOT_FOUND)
    # Pillow's PNG reader raises SyntaxError on a broken header.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, DataError):
        return Picture(name, problem="not a readable image")
    return Picture(name, _uri(small))


def shown_by(images: ImageRows, row: int) -> dict[str, object]:
    """Return what a record of an image needs, besides its path, for a thumbnail to be made of it.

    Args:
        images: The images.
        row: The image's row.

    Returns:
        ``box`` of a part of a file; ``thumbnail`` of what is in no file; otherwise nothing.
    """
    box = images.box(row)
    if images.is_file(row):
        return {} if box is None else {"box": list(box)}
    try:
        return {"thumbnail": _uri(_from_pixels(images.read(row)))}
    except DataError:  # it could be read a moment ago; no picture is worth the end of a run
        return {}


def _whole(path: str) -> Image.Image:
    with Image.open(path) as image:
        # Lets the JPEG decoder scale while it decodes: large photographs take a tenth.
        image.draft("RGB", MAX_SIZE)
        ImageOps.exif_transpose(image, in_place=True)
        return image.convert("RGB")


def _part(path: str, box: tuple[float, float, float, float]) -> Image.Image:
    # Imported here: torch takes seconds, and a report without boxes does not need it.
    from reid_core.data.image_reader import decode_image
    from reid_core.data.image_rows import crop

    return _from_pixels(crop(decode_image(Path(path).read_bytes(), path), box))


def _from_pixels(image: Tensor) -> Image.Image:
    return Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())


def _uri(image: Image.Image) -> str:
    image.thumbnail(MAX_SIZE)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
