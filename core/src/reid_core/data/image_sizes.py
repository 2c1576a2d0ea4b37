"""Width and height of a data set's images, from the headers of their files."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reid_core.data.manifest import Manifest
from reid_core.data.stores import FolderStore
from reid_core.progress import track

#: Up to so many headers are read; of a larger set, rows at even distances stand for the others.
MAX_HEADERS = 20_000

_ORIENTATION = 0x0112
#: Values of the EXIF orientation with width and height exchanged.
_LYING = range(5, 9)


@dataclass(frozen=True, eq=False)
class ImageSizes:
    """Sizes of some images of a data set.

    Args:
        sizes: (M, 2) int64 width and height in pixels, upright; of the box where there is one.
        unreadable: Images that could not be opened, of those looked at.
        looked_at: How many images were looked at.
        example: Path of the first unreadable one; empty where there is none.
    """

    sizes: NDArray[np.int64]
    unreadable: int
    looked_at: int
    example: str = ""


def image_sizes(manifest: Manifest, *, max_headers: int = MAX_HEADERS) -> ImageSizes:
    """Read the sizes of a data set's images; pixels are not decoded.

    Args:
        manifest: The rows; a row with a box has the size of the box.
        max_headers: Most files to look at, at least 1.
    """
    rows = np.arange(len(manifest))
    if len(rows) > max_headers:
        rows = np.linspace(0, len(rows) - 1, max_headers).astype(np.int64)
    boxes = manifest.columns.get("boxes")
    found: list[tuple[int, int]] = []
    broken: list[str] = []
    for row in track(rows.tolist(), total=len(rows), description="reading headers"):
        path = str(manifest.paths[row])
        if boxes is not None and not np.isnan(boxes[row].astype(np.float64)).any():
            _, _, width, height = boxes[row].tolist()
            found.append((round(width), round(height)))
            continue
        size = _size(manifest, path)
        if size is None:
            broken.append(path)
        else:
            found.append(size)
    sizes = np.array(found, dtype=np.int64).reshape(-1, 2)
    return ImageSizes(sizes, len(broken), len(rows), broken[0] if broken else "")


def _size(manifest: Manifest, path: str) -> tuple[int, int] | None:
    store = manifest.images
    try:
        # Of a file only the beginning is read.
        source = (
            store.locate(path) if isinstance(store, FolderStore) else io.BytesIO(store.read(path))
        )
        with Image.open(source) as image:
            width, height = image.size
            is_lying = image.getexif().get(_ORIENTATION) in _LYING
    # Any: on damaged bytes Pillow also raises SyntaxError, struct.error, KeyError, …
    except Exception:
        return None
    return (height, width) if is_lying else (width, height)
