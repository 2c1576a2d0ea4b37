"""Text files that hold a name a line, or numbers alone."""

from __future__ import annotations

import re
from pathlib import Path

from reid_core.errors import DataError


def read_names(path: Path, *, dataset: str) -> list[str]:
    """Read a file with one name a line, which may hold spaces.

    Args:
        path: The file, UTF-8; empty lines are skipped.
        dataset: The component's name, for messages.

    Returns:
        The names in their order, with forward slashes.

    Raises:
        DataError: The file cannot be read or holds no name.
    """
    names = [line.strip().replace("\\", "/") for line in _text(path, dataset).splitlines()]
    names = [name for name in names if name]
    if not names:
        raise DataError(f"data set {dataset}: {path} holds no line")
    return names


def read_numbers(path: Path, *, dataset: str) -> list[int]:
    """Read whole numbers that commas, spaces or line ends separate.

    Args:
        path: The file.
        dataset: The component's name, for messages.

    Returns:
        The numbers in ascending order, each once.

    Raises:
        DataError: The file cannot be read, holds no number, or something else.
    """
    words = [word for word in re.split(r"[,\s]+", _text(path, dataset)) if word]
    wrong = [word for word in words if not re.fullmatch(r"\d+", word, re.ASCII)]
    if wrong or not words:
        found = f"{wrong[0]!r}" if wrong else "nothing"
        raise DataError(
            f"data set {dataset}: {path} holds {found}; expected identities, such as 1,5,12"
        )
    return sorted({int(word) for word in words})


def _text(path: Path, dataset: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"data set {dataset}: {path} cannot be read: {error}") from error
