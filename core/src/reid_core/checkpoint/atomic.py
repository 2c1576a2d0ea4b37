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
        OSError: The disk is full, say; the old file is untouched and the temporary one removed.
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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file in the same way, as UTF-8."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, content: bytes) -> None:
    """Write the bytes of a file in the same way."""
    write_atomically(path, lambda file: file.write(content))


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
