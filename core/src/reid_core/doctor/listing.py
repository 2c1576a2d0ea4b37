"""What lies in the folders of a set: each is listed once, no file is asked for on its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """The content of one folder.

    Args:
        files: Names of its files; of links, those that lead to one.
        folders: Names of the folders in it.
        dead: Links that lead nowhere.
    """

    files: Set[str] = frozenset()
    folders: Set[str] = frozenset()
    dead: Set[str] = frozenset()


#: Names of files that are kept at a time. Those of a million files take 100 MB.
_MOST_NAMES = 100_000
#: How often each folder may be listed, on average, before all are kept. Rows mostly stand folder by
#: folder; where they do not, each row would list its folder anew.
_MOST_TURNS = 4


class Listings:
    """The folders below a root, each listed when it is asked for and not known any more.

    Args:
        root: The folder that the others are relative to.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, Listing] = {}
        self._met: set[str] = set()
        self._num_names = self._num_listed = 0

    def of(self, folder: str) -> Listing:
        """Return what a folder holds; nothing where there is no such folder.

        Args:
            folder: Relative to the root; empty is the root itself.
        """
        if folder not in self._known:
            self._make_room()
            self._known[folder] = _listed(os.path.join(self._root, folder))  # noqa: PTH118
            self._num_names += len(self._known[folder].files)
            self._num_listed += 1
            self._met.add(folder)
        return self._known[folder]

    def _make_room(self) -> None:
        """Forget the folders that were listed first, unless that has them listed too often."""
        if self._num_listed > _MOST_TURNS * len(self._met) + 100:
            return
        while self._num_names > _MOST_NAMES:
            oldest = next(iter(self._known))
            self._num_names -= len(self._known.pop(oldest).files)


def by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of files by their folder, in the order given.

    Args:
        paths: With forward slashes.
    """
    names: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, []).append(name)
    return names


def _listed(folder: str) -> Listing:
    files: set[str] = set()
    folders: set[str] = set()
    dead: set[str] = set()
    try:
        with os.scandir(folder or ".") as entries:  # knows what is a file without asking again
            for entry in entries:
                if entry.is_file():
                    files.add(entry.name)
                elif entry.is_dir():
                    folders.add(entry.name)
                else:
                    dead.add(entry.name)
    except OSError:
        return Listing()
    return Listing(files, folders, dead)
