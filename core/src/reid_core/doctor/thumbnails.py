"""Small versions of all images of a scan, in a temporary file, to look for near copies in."""

from __future__ import annotations

import tempfile
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError

#: Sides of the two squares of an image, in pixels.
FINE, COARSE = 32, 16

#: The two squares of an image.
THUMBNAIL = np.dtype([("fine", "u1", (FINE, FINE, 3)), ("coarse", "u1", (COARSE, COARSE, 3))])


class Thumbnails:
    """An array of :data:`THUMBNAIL` in a file that is gone when it is closed.

    Use it as a context while rows are written; they can be read ever after.

    Args:
        number: How many rows there are.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._file: IO[bytes] | None = None
        self._rows: NDArray[np.void] = np.empty(0, THUMBNAIL)

    def __enter__(self) -> Self:
        self._file = tempfile.TemporaryFile(prefix="reid-data-check-")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._file is not None
        with self._file as file:
            if self._number:
                # Rows of images that cannot be read were not written: the end may be missing.
                file.truncate(self._number * THUMBNAIL.itemsize)
                self._rows = np.memmap(file, THUMBNAIL, mode="r", shape=(self._number,))

    def write(self, rows: NDArray[np.intp], values: NDArray[np.void]) -> None:
        """Write some rows.

        Args:
            rows: (M,) their numbers.
            values: (M,) of :data:`THUMBNAIL`.

        Raises:
            DataError: The temporary folder is full.
        """
        assert self._file is not None
        try:
            # Written, not mapped: where a mapped page finds no room the process is killed.
            for row, value in zip(rows.tolist(), values, strict=True):
                self._file.seek(row * THUMBNAIL.itemsize)
                self._file.write(value.tobytes())
            self._file.flush()
        except OSError as error:
            megabytes = self._number * THUMBNAIL.itemsize >> 20
            raise DataError(
                f"the small versions of {self._number} images cannot be written to "
                f"{tempfile.gettempdir()}: {error.strerror}; they take {megabytes} MB; name "
                "another folder by TMPDIR, or leave the near copies out: reid-data check "
                "--no-near-duplicates"
            ) from error

    def fine(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return images as squares of 32 pixels, (M, 32, 32, 3)."""
        return self._rows["fine"][rows].astype(np.float32)

    def coarse(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return images as squares of 16 pixels, (M, 16, 16, 3)."""
        return self._rows["coarse"][rows].astype(np.float32)
