"""Small sets for the doctor: tables without files, and images of noise on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.data.manifest import Manifest, text_column

#: (path, identity, camera, split) of a row.
Row = tuple[str, object, object, str]


def table(rows: Sequence[Row], root: Path, **fields: object) -> Manifest:
    """A manifest of rows; integers and text as they are given."""
    return Manifest(
        name="zoo",
        root=root,
        paths=text_column([row[0] for row in rows]),
        pids=np.array([row[1] for row in rows]),
        camids=np.array([row[2] for row in rows]),
        splits=np.array([row[3] for row in rows]),
        **fields,
    )


@pytest.fixture
def make_table(tmp_path: Path) -> Callable[..., Manifest]:
    """``make_table([("a.png", 1, 1, "train")])`` is a set whose files are not there."""
    return lambda rows, **fields: table(rows, tmp_path, **fields)


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., Manifest]:
    """Write the images of a set.

    ``make_set({"a.png": image, "b.jpg": b"bytes"})`` takes images and contents; each is of an
    identity of its own, camera 1, split train, unless ``rows`` say otherwise.
    """

    def make(files: dict[str, Image.Image | bytes], rows: Sequence[Row] = (), **fields: object):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                content.save(path)
        listed = rows or [(name, number, 1, "train") for number, name in enumerate(files, 1)]
        return table(listed, tmp_path, **fields)

    return make
