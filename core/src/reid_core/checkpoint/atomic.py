"""Files that are either whole or not there."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

_LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that a crash at any moment leaves the old one or the new one.

    The content goes to a temporary file beside it, is flushed to the disk, and then takes the name.

    Args:
        path: The file's final name.
        write: Writes the content to the open file it is given.

    Raises:
        OSError: The disk is full, say; the old file is untouched and the temporary one removed. It
            names ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        # Opened so and not by tempfile, whose files are for the owner alone: the system applies the
        # umask, which can only be read by changing it for all threads.
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # A failed write knows no name, a failed opening one that nobody has heard of.
            error.filename = str(path)
        raise
    _sync_folder(path.parent)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file in the same way, as UTF-8."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Write the bytes of a file in the same way."""
    write_atomically(path, lambda file: file.write(content))


def overwrite(path: Path, content: bytes) -> None:
    """Write over the bytes of a small file, where the disk has no room for a second one beside it.

    A disk gives room in blocks of some KiB: a file that stays within its block needs no more.

    Args:
        path: The file, which is there.
        content: What it shall hold. A crash in between leaves a part of it.

    Raises:
        OSError: It is not there, or needs more room than there is.
    """
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Let what was written to a file reach the disk; nothing is done where there is no such file.

    Raises:
        OSError: The disk is full, say.
    """
    try:
        # Not for reading alone: Windows refuses to flush such a handle.
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the temporary files of processes that were killed while they wrote.

    Args:
        folder: Where to look, not below it; nobody else may be writing there now.

    Returns:
        What was removed, sorted.
    """
    if not folder.is_dir():
        return []
    found = sorted(path for path in folder.iterdir() if _LEFTOVER.fullmatch(path.name))
    for path in found:
        path.unlink(missing_ok=True)
    return found


def _sync_folder(folder: Path) -> None:
    # The new name itself must reach the disk; Windows has no handle for a folder.
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
