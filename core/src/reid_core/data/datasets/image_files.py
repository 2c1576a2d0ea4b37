"""The images below a folder, and what lies between them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from reid_core.data.datasets.market1501 import SUFFIXES as COMMON_SUFFIXES
from reid_core.errors import DataError
from reid_core.wording import counted

#: Suffixes of files that are taken for images, in small letters.
IMAGE_SUFFIXES = frozenset(COMMON_SUFFIXES) | {".gif", ".ppm", ".tif", ".tiff"}
#: Folders that systems leave behind.
_LEFT_BEHIND = frozenset({"__MACOSX", "@eaDir", "$RECYCLE.BIN"})


@dataclass(frozen=True)
class ImageFiles:
    """What a folder holds.

    Args:
        paths: The images, relative to the folder, with forward slashes, sorted.
        stray: Everything else that is no plain folder: hidden files, other suffixes, folders that
            are called like an image; sorted.
    """

    paths: list[str]
    stray: list[str]

    def notes(self) -> tuple[str, ...]:
        """Say what was ignored."""
        if not self.stray:
            return ()
        number = counted(len(self.stray), "stray file or folder", "stray files and folders")
        return (f"{number} ignored, for example {self.stray[0]}",)


def is_image_name(name: str) -> bool:
    """Return whether a file of this name is taken for an image."""
    suffix = os.path.splitext(name)[1]  # noqa: PTH122 — called for each of a million files
    return suffix.lower() in IMAGE_SUFFIXES and not name.startswith(".")


def name_of(folder: Path) -> str:
    """Return what a folder is called as it was named, which a link's goal may not be."""
    return os.path.basename(os.path.abspath(folder))  # noqa: PTH100, PTH119 — of ``..`` too


def walk_images(root: Path) -> ImageFiles:
    """List the images at any depth below a folder.

    Args:
        root: An existing folder. Links to folders are followed, but not back to a folder above.

    Raises:
        DataError: A folder cannot be listed.
    """
    paths: list[str] = []
    stray: list[str] = []
    todo: list[tuple[str, tuple[str, ...]]] = [("", (os.path.realpath(root),))]
    while todo:
        prefix, above = todo.pop()
        try:
            with os.scandir(os.path.join(root, prefix)) as entries:  # noqa: PTH118 — fast
                for entry in entries:
                    name = prefix + entry.name
                    if not entry.is_dir():
                        (paths if is_image_name(entry.name) else stray).append(name)
                    elif _is_stray_folder(entry.name):
                        stray.append(name)
                    elif not entry.is_symlink():
                        todo.append((f"{name}/", above))
                    elif (real := os.path.realpath(entry.path)) not in above:
                        todo.append((f"{name}/", (*above, real)))
        except OSError as error:
            raise DataError(f"folder {root / prefix} cannot be listed: {error.strerror}") from error
    return ImageFiles(sorted(paths), sorted(stray))


def _is_stray_folder(name: str) -> bool:
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 — as above
    return name.startswith(".") or name in _LEFT_BEHIND or suffix in IMAGE_SUFFIXES
