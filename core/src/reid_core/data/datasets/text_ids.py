"""Identities and cameras that were written as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, text_column

#: More digits than this may not fit into 64 bits.
_MOST_DIGITS = 18


def is_plain_integer(text: str) -> bool:
    """Return whether text is an integer in the one spelling that loses nothing: not ``007``."""
    digits = text.removeprefix("-")
    return (
        digits.isascii()
        and digits.isdigit()
        and len(digits) <= _MOST_DIGITS
        and str(int(text)) == text
    )


def ids_of(names: Sequence[str], codes: NDArray[np.int32], *, as_text: bool = False) -> IdArray:
    """Return a column of identities or cameras.

    Where each of them is a plain integer they are integers, so that 2 comes before 10; otherwise
    all are text, as written: ``007`` stays ``007``.

    Args:
        names: The different ones, in any order.
        codes: (N,) which of them a row has.
        as_text: Whether they are text in any case.

    Returns:
        (N,) int64 or text.
    """
    if not as_text and all(map(is_plain_integer, names)):
        return np.array([int(name) for name in names], dtype=np.int64)[codes]
    return text_column(names)[codes]


def id_column(values: Iterable[str]) -> IdArray:
    """Return one identity or camera a row as a column; see :func:`ids_of`."""
    names, codes = coded(values)
    return ids_of(names, codes)


def coded(values: Iterable[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different values in the order in which they come, and which of them each is."""
    index: defaultdict[str, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(index.__getitem__, values), dtype=np.int32)
    return list(index), codes
