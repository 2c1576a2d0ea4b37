"""Columns of a CSV file, gathered block by block."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.tables.table import Coded, Column
from reid_core.data.manifest import TextArray, text_column

#: A number in decimal notation; ``007`` is none, since it would lose its zeros.
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = frozenset({"", "nan", "NaN", "NAN"})
#: Integers from here on are not all floats.
_EXACT = 2**53


class NotNumbersError(ValueError):
    """A block holds something else than numbers; the column has to be read again, as text."""


class Cells(Protocol):
    """A column that grows."""

    def add(self, cells: Sequence[str]) -> None:
        """Append the cells of a block."""
        ...

    def finish(self) -> Column:
        """Return the whole column."""
        ...


class TextCells:
    """Text, each spelling kept once.

    Args:
        is_text: Whether it is text even if it looks like integers.
    """

    def __init__(self, *, is_text: bool) -> None:
        self._index: defaultdict[str, int] = defaultdict(count().__next__)
        self._blocks: list[NDArray[np.int32]] = []
        self._is_text = is_text

    def add(self, cells: Sequence[str]) -> None:
        """Append the cells of a block."""
        codes = np.fromiter(map(self._index.__getitem__, cells), dtype=np.int32, count=len(cells))
        self._blocks.append(codes)

    def finish(self) -> Column:
        """Return the whole column."""
        codes = np.concatenate([np.zeros(0, dtype=np.int32), *self._blocks])
        return Coded(list(self._index), codes, self._is_text)


class PathCells:
    """Text that is different in each row."""

    def __init__(self) -> None:
        self._blocks: list[TextArray] = [text_column([])]

    def add(self, cells: Sequence[str]) -> None:
        """Append the cells of a block."""
        self._blocks.append(text_column(cells))

    def finish(self) -> Column:
        """Return the whole column."""
        return cast("Column", np.concatenate(self._blocks))


class NumberCells:
    """Integers, or floats with NaN for what is missing."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.int64] | NDArray[np.float64]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Append the cells of a block.

        Raises:
            NotNumbersError: One is no number.
        """
        self._blocks.append(numbers_of(cells))

    def finish(self) -> Column:
        """Return the whole column.

        Raises:
            NotNumbersError: Some are missing, and others too large for a float.
        """
        if all(block.dtype.kind == "i" for block in self._blocks):
            return np.concatenate([np.zeros(0, dtype=np.int64), *self._blocks])
        if any(block.dtype.kind == "i" and np.abs(block).max() > _EXACT for block in self._blocks):
            raise NotNumbersError
        return np.concatenate([block.astype(np.float64) for block in self._blocks])


def numbers_of(cells: Sequence[str]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Read numbers.

    Returns:
        (N,) int64 where each is an integer, else float64.

    Raises:
        NotNumbersError: One is no number, or written as a number is not.
    """
    try:
        integers = list(map(int, cells))
        if list(map(str, integers)) == list(cells):
            return np.array(integers, dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    filled = [None if cell in _MISSING else cell for cell in cells]
    if not all(cell is None or _NUMBER.fullmatch(cell) for cell in filled):
        raise NotNumbersError
    if any(cell and cell.lstrip("-").isdigit() and abs(int(cell)) > _EXACT for cell in filled):
        raise NotNumbersError
    return np.array([np.nan if cell is None else float(cell) for cell in filled], dtype=np.float64)
