"""The paths in a table: relative to a folder, with forward slashes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from reid_core.data.datasets.tables.table import Table
from reid_core.data.manifest import TextArray, text_column

_DRIVE = re.compile(r"[A-Za-z]:/")
#: Paths that are ordinary text at a time.
_AT_ONCE = 2**16


def place_paths(table: Table, root: Path | None, folder: Path) -> tuple[Path, TextArray]:
    """Make the paths of a table relative.

    Relative paths start at ``root``, or at the table's folder. Absolute ones have to be below
    ``root``; without it they start at the folder that all have in common.

    Args:
        table: The table.
        root: The folder that the user named.
        folder: The table's folder.

    Returns:
        The root and (N,) paths with forward slashes.

    Raises:
        DataError: A path is missing, some are absolute and others relative, or one is elsewhere.
    """
    paths = table.paths
    empty = np.flatnonzero(np.strings.str_len(paths) == 0)
    if len(empty):
        table.fail(int(empty[0]), "path", "it is empty; expected the path of an image")
    has_backslash, has_drive = _oddities(paths)
    if has_backslash:
        # A table may come from Windows, whose names hold no backslashes: these part folders.
        paths = text_column(path.replace("\\", "/") for path in paths.tolist())
    is_absolute = np.strings.startswith(paths, "/")
    if has_drive:
        is_absolute |= np.array([bool(_DRIVE.match(path)) for path in paths.tolist()])
    if not is_absolute.any():
        return root or folder, paths
    if not is_absolute.all():
        row = int(np.flatnonzero(~is_absolute)[0])
        other = int(np.flatnonzero(is_absolute)[0])
        table.fail(
            row,
            "path",
            f"{paths[row]} is relative, but {paths[other]} ({table.place(other)}) is absolute; "
            "expected one kind",
        )
    folders = {str(path).rpartition("/")[0] or "/" for path in paths}
    common = Path(os.path.commonpath(sorted(folders))).as_posix()
    start = (root.absolute().as_posix() if root else common).rstrip("/") + "/"
    outside = np.flatnonzero(~np.strings.startswith(paths, start))
    if len(outside):
        row = int(outside[0])
        table.fail(row, "path", f"{paths[row]} is not below root, {start}; leave root out")
    return Path(start), text_column(path[len(start) :] for path in paths.tolist())


def _oddities(paths: TextArray) -> tuple[bool, bool]:
    """Return whether there is a backslash, and what may be a drive such as ``C:/``.

    One search in the text of many paths is ten times as fast as one in each.
    """
    has_backslash = has_drive = False
    for start in range(0, len(paths), _AT_ONCE):
        text = "\n".join(paths[start : start + _AT_ONCE].tolist())
        has_backslash |= "\\" in text
        has_drive |= ":/" in text or ":\\" in text
    return has_backslash, has_drive
