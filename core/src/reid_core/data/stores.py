"""Where the bytes of a data set's images are: in files, or packed together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class ImageStore(Protocol):
    """The bytes of images, by path; sent to worker processes, so it opens what it needs there."""

    def read(self, path: str) -> bytes:
        """Return the bytes of the image file.

        Raises:
            OSError: There are none.
        """
        ...

    def locate(self, path: str) -> str:
        """Say where an image is, for messages and people: a file's full path, where it is one."""
        ...


@dataclass(frozen=True)
class FolderStore:
    """Files below a folder.

    Args:
        root: The folder; empty is the working directory.
    """

    root: str

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            OSError: It cannot be opened.
        """
        with open(self.locate(path), "rb", buffering=0) as file:  # noqa: PTH123 — pathlib costs more
            return file.readall()

    def locate(self, path: str) -> str:
        """Return the full path of a file."""
        return os.path.join(self.root, path)  # noqa: PTH118 — pathlib costs more
