"""Random numbers that are the same on every machine and under every NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Purpose(IntEnum):
    """What a stream is for; part of its key, so that no two purposes share numbers."""

    LENSES = 1
    PLACE = 2
    PEOPLE = 3
    PICTURE = 4
    DISTRACTOR = 5


class Stream:
    """Integers from the raw bits of PCG64, keyed by what they are for.

    NumPy promises that the raw bits of a bit generator never change; what ``Generator`` makes of
    them may change between releases, so it is not used here.

    Args:
        key: Non-negative integers, for example (seed, purpose, identity, camera, shot).
    """

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(key))

    def integer(self, low: int, high: int) -> int:
        """Return an integer in ``low..high``, both included."""
        return low + int(self._bits.random_raw()) % (high - low + 1)

    def chance(self, percent: int) -> bool:
        """Return True in ``percent`` of 100 calls."""
        return self.integer(0, 99) < percent

    def choice(self, options: Sequence[T]) -> T:
        """Return one of ``options``, each as likely as the others."""
        return options[self.integer(0, len(options) - 1)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return ``options`` in a random order (Fisher-Yates)."""
        items = list(options)
        for last in range(len(items) - 1, 0, -1):
            other = self.integer(0, last)
            items[last], items[other] = items[other], items[last]
        return items

    def octets(self, *shape: int) -> NDArray[np.int32]:
        """Return an array of ``shape`` int32, each value in 0..255."""
        count = math.prod(shape)
        words = np.asarray(self._bits.random_raw((count + 7) // 8), dtype="<u8")
        return words.view(np.uint8)[:count].astype(np.int32).reshape(shape)
