"""The images of CUHK03 out of its MATLAB file."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reid_core.errors import DataError
from reid_core.progress import track

if TYPE_CHECKING:
    from h5py import File, Reference

#: Images of a person from the first camera of a pair; as many of the second one follow.
_PER_VIEW = 5


def ensure_images(release: Path, images: str, folder: Path) -> bool:
    """Write the images of the release as files, unless the folder is there.

    They are written to a folder beside it that is renamed when it is whole, so that an interrupted
    run leaves none. A file is named ``1_002_1_03.png``: pair of cameras, person of that pair, view,
    number of the image.

    Args:
        release: ``cuhk-03.mat``.
        images: ``labeled`` or ``detected``.
        folder: Where the files belong.

    Returns:
        Whether they were written now.

    Raises:
        DataError: h5py is not installed, the release cannot be read, or the folder not written.
    """
    if folder.is_dir():
        return False
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with _opened(release) as file:
            aside.mkdir()
            people = list(_people(file, images))
            for pair, person, cells in track(
                people, total=len(people), description=f"extracting CUHK03's {images} images, once"
            ):
                _write(file, cells, aside, f"{pair}_{person:03d}")
        _publish(aside, folder)
    except OSError as error:
        raise DataError(
            f"data set cuhk03: cannot extract the images of {release} to {folder.parent}: "
            f"{error}; copy the release to where you may write, and set root to it"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True


def read_test_people(release: Path, split: int) -> frozenset[tuple[int, int]]:
    """Read who is tested in one of the 20 splits of the release.

    Args:
        release: ``cuhk-03.mat``.
        split: Number of the split, from 0.

    Returns:
        Pair of cameras and number of the person in it, both from 1.

    Raises:
        DataError: h5py is not installed, or the release cannot be read.
    """
    with _opened(release) as file:
        table = np.asarray(file[_refs(file, "testsets")[split]])
    return frozenset((int(pair), int(person)) for pair, person in table.T)


@contextmanager
def _opened(release: Path) -> Iterator[File]:
    try:
        import h5py
    except ImportError as error:
        raise DataError(
            f"data set cuhk03: {release.name} is a MATLAB file of version 7.3, which needs h5py; "
            "type pip install 'reid-plugin-datasets[mat]'"
        ) from error
    try:
        file = h5py.File(release, "r")
    except OSError as error:
        raise DataError(
            f"data set cuhk03: {release} cannot be read: {error}; unpack cuhk03_release.zip again"
        ) from error
    with file:
        try:
            yield file
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
            raise DataError(
                f"data set cuhk03: {release} is not as expected ({error!r}); expected the file "
                "cuhk-03.mat of the release, with labeled, detected and testsets"
            ) from error


def _refs(file: File, name: str) -> NDArray[np.object_]:
    """Return the references in a row of cells; the file has MATLAB's axes in reverse."""
    return np.asarray(file[name]).ravel()


def _people(file: File, images: str) -> Iterator[tuple[int, int, list[Reference]]]:
    """Yield pair of cameras, number of the person, and the references to its ten cells."""
    for pair, reference in enumerate(_refs(file, images), 1):
        for person, cells in enumerate(np.asarray(file[reference]).T, 1):
            yield pair, person, cells.tolist()


def _write(file: File, cells: list[Reference], folder: Path, start: str) -> None:
    for number, reference in enumerate(cells, 1):
        pixels = np.asarray(file[reference])
        if pixels.ndim < 3:  # an empty cell: fewer than five images of a view
            continue
        view = 1 if number <= _PER_VIEW else 2
        image = Image.fromarray(np.ascontiguousarray(pixels.T.astype(np.uint8)))
        image.save(folder / f"{start}_{view}_{number:02d}.png", compress_level=3)


def _publish(aside: Path, folder: Path) -> None:
    try:
        aside.rename(folder)
    except OSError:
        # Another process was faster; what it wrote has the same pixels.
        if not folder.is_dir():
            raise
