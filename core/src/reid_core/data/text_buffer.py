"""Columns of text as one run of bytes: what processes share, and what files keep."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import TextArray

#: Text of fixed or of any width.
Texts: TypeAlias = NDArray[np.str_] | TextArray

#: Texts that are turned into bytes at a time: as Python's strings they take five times the room.
_CHUNK = 2**16


def pack_texts(
    columns: Sequence[Texts],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack columns of text, one after the other, into one run of bytes.

    Args:
        columns: Each (N,) text of any width.

    Returns:
        The bytes (T,) uint8 of all texts in UTF-8, and where each begins, with the end (N + 1,)
        int64.
    """
    # Grows in place: joined at the end, the bytes would for a moment be there twice.
    texts = bytearray()
    lengths = [np.zeros(1, dtype=np.int64)]
    for values in _chunks(columns):
        encoded = [value.encode() for value in values]
        lengths.append(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
        texts += b"".join(encoded)
    return np.frombuffer(texts, dtype=np.uint8), np.cumsum(np.concatenate(lengths))


def _chunks(columns: Sequence[Texts]) -> Iterator[list[str]]:
    for values in columns:
        for start in range(0, len(values), _CHUNK):
            yield values[start : start + _CHUNK].tolist()


def unpack_texts(packed: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the texts again.

    Args:
        packed: As :func:`pack_texts` gives it.
        offsets: The same.
    """
    whole, places = packed.tobytes(), offsets.tolist()
    return [whole[start:end].decode() for start, end in itertools.pairwise(places)]
