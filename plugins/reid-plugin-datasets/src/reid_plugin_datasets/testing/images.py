"""Small image files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def write_image(path: Path) -> None:
    """Write a small image in the format of its suffix, the folder being made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 4, 3), 90, dtype=np.uint8)).save(path)
