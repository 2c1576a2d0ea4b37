"""Text files with an image a line."""

from __future__ import annotations

from pathlib import Path

from reid_core.errors import DataError


def read_pairs(path: Path, *, dataset: str) -> list[tuple[str, int]]:
    """Read lines of two words, the image and a number.

    Args:
        path: The file; empty lines are skipped.
        dataset: The component's name, for messages.

    Returns:
        Image and number of each line, in their order.

    Raises:
        DataError: The file cannot be read, holds nothing, or a line is not of that form.
    """
    pairs = []
    for number, words in _lines(path, dataset):
        try:
            image, value = words
            pairs.append((image, int(value)))
        except ValueError as error:
            raise DataError(
                f"data set {dataset}: {path}, line {number}: {' '.join(words)!r} is not an image "
                "and a number"
            ) from error
    return pairs


def read_last_numbers(path: Path, *, dataset: str) -> dict[str, int]:
    """Read a table whose first word is an image, with or without folders, and whose last a number.

    Args:
        path: The file.
        dataset: The component's name, for messages.

    Returns:
        The number by the image's file name.

    Raises:
        DataError: The file cannot be read, holds nothing, or a line is not of that form.
    """
    table = {}
    for number, words in _lines(path, dataset):
        try:
            table[words[0].replace("\\", "/").rpartition("/")[2]] = int(words[-1])
        except ValueError as error:
            raise DataError(
                f"data set {dataset}: {path}, line {number}: it ends in {words[-1]!r}, which is no "
                "whole number"
            ) from error
    return table


def read_words(path: Path, *, dataset: str) -> list[list[str]]:
    """Read lines of words, such as the images of a track.

    Args:
        path: The file; empty lines are skipped.
        dataset: The component's name, for messages.

    Returns:
        The words of each line, in their order.

    Raises:
        DataError: The file cannot be read, or holds nothing.
    """
    return [words for _, words in _lines(path, dataset)]


def _lines(path: Path, dataset: str) -> list[tuple[int, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"data set {dataset}: {path} cannot be read: {error}") from error
    lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise DataError(f"data set {dataset}: {path} holds no line")
    return lines
