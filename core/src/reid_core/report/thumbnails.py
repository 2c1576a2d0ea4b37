"""Small pictures inside the page."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

#: Width and height that a thumbnail must fit into, in pixels: the shape of a person crop.
MAX_SIZE = (64, 128)
JPEG_QUALITY = 80


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


def picture(path: str) -> Picture:
    """Make a thumbnail of an image file; the proportions stay, nothing is enlarged.

    Args:
        path: The image file. One that is missing or damaged is no error: the run is over, and
            the data set may have moved.

    Returns:
        The picture, at most 64 × 128 pixels.
    """
    name = Path(path).name
    try:
        with Image.open(path) as image:
            # Lets the JPEG decoder scale while it decodes: large photographs take a tenth.
            image.draft("RGB", MAX_SIZE)
            small = image.convert("RGB")
    except FileNotFoundError:
        return Picture(name, problem="file not found")
    # Pillow's PNG reader raises SyntaxError on a broken header.
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return Picture(name, problem="not a readable image")
    small.thumbnail(MAX_SIZE)
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=JPEG_QUALITY, optimize=True)
    return Picture(name, f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}")
