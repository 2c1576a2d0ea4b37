"""Pairs of codes that differ in few bits, found without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Entries after an entry with the same part of the code that it is compared with.
_NEIGHBOURS = 256
#: Pairs that are collected before those of entries with too many are dropped.
_COLLECTED = 2**21


class NearPairs(NamedTuple):
    """Pairs of pictures whose codes are nearly equal.

    Args:
        pairs: (P, 2) int64 pictures, the smaller number first; sorted, none twice.
        bits: (P,) int64, in how many bits their codes differ.
        has_more: (K,) bool, the pictures of which a pair was left out.
    """

    pairs: NDArray[np.int64]
    bits: NDArray[np.int64]
    has_more: NDArray[np.bool_]


def near_pairs(
    codes: NDArray[np.uint64],
    owners: NDArray[np.intp],
    groups: NDArray[np.int64],
    *,
    max_bits: int,
    most: int,
    most_in_all: int,
) -> NearPairs:
    """Find pictures whose codes are nearly equal.

    The code is cut into bands. Codes are compared where a whole band is equal, which for nearly
    equal codes is so in one band at least, and for others hardly ever. Bands get longer, and fewer,
    with the number of codes, so that the work grows little faster than that. Where more than 256
    codes share a band, each is compared with its 256 neighbours in the order of the code.

    Args:
        codes: (M, 3) codes of 192 bits.
        owners: (M,) the picture, 0 to K - 1, that each is a code of.
        groups: (K,) pictures of one group are not compared.
        max_bits: Most bits that differ.
        most: A pair is kept if one of the two is in no more than so many pairs that are nearer.
        most_in_all: Pairs that are kept, the nearest ones.

    Source: Indyk and Motwani, Approximate Nearest Neighbors, STOC 1998.
    """
    collected = _Collected(len(groups), max_bits, most, most_in_all)
    for band in _bands(codes):
        order = np.lexsort((codes[:, 0], band))
        for left, right in _equal_neighbours(band[order], order):
            one, other = owners[left], owners[right]
            is_other = groups[one] != groups[other]
            bits = _different_bits(codes, left[is_other], right[is_other])
            collected.add(one[is_other], other[is_other], bits)
    left, right, bits = collected.pruned()
    return NearPairs(np.stack([left, right], axis=1), bits, collected.has_more)


class _Collected:
    """The nearest pairs of those that were found so far."""

    def __init__(self, number: int, max_bits: int, most: int, most_in_all: int) -> None:
        self.has_more = np.zeros(number, dtype=bool)
        self._max_bits, self._limit = max_bits, max_bits
        self._most, self._most_in_all = most, most_in_all
        self._found = [np.empty((3, 0), dtype=np.int64)]
        self._size = 0

    def add(self, one: NDArray[np.intp], other: NDArray[np.intp], bits: NDArray[np.int64]) -> None:
        """Take up pairs (P,) that are near enough."""
        if self._limit < self._max_bits:
            self._leave_out(one, other, (bits > self._limit) & (bits <= self._max_bits))
        near = bits <= self._limit
        ends = np.sort(np.stack([one[near], other[near]]), axis=0)
        self._found.append(np.concatenate([ends, bits[None, near]]))
        self._size += ends.shape[1]
        if self._size > _COLLECTED + self._most_in_all:
            self._found = [self.pruned()]
            self._size = self._found[0].shape[1]

    def pruned(self) -> NDArray[np.int64]:
        """Return the nearest pairs (3, P): two pictures and the bits; each once, sorted."""
        pairs = _distinct(np.concatenate(self._found, axis=1))
        is_kept = _are_nearest(pairs, self._most, len(self.has_more))
        self._leave_out(pairs[0], pairs[1], ~is_kept)
        pairs = pairs[:, is_kept]
        if pairs.shape[1] <= self._most_in_all:
            return pairs
        order = np.argsort(pairs[2], kind="stable")
        # Farther ones that are still to come would be dropped too.
        self._limit = int(pairs[2, order[self._most_in_all]])
        is_kept = np.zeros(pairs.shape[1], dtype=bool)
        is_kept[order[: self._most_in_all]] = True
        self._leave_out(pairs[0], pairs[1], ~is_kept)
        return pairs[:, is_kept]

    def _leave_out(
        self, one: NDArray[np.int64], other: NDArray[np.int64], is_dropped: NDArray[np.bool_]
    ) -> None:
        self.has_more[one[is_dropped]] = True
        self.has_more[other[is_dropped]] = True


def band_width(number: int) -> int:
    """Return the bytes of a band for so many entries, 1 to 4."""
    return 1 + sum(number > limit for limit in (2**14, 2**17, 2**21))


def _bands(codes: NDArray[np.uint64]) -> Iterator[NDArray[np.uint32]]:
    code_bytes = np.ascontiguousarray(codes).view(np.uint8).reshape(len(codes), 24)
    width = band_width(len(codes))
    # The bands overlap: copies that differ in many bits are found by one of more bands.
    for start in range(code_bytes.shape[1] - width + 1):
        band = np.zeros(len(codes), dtype=np.uint32)
        for column in range(start, start + width):
            band = (band << np.uint32(8)) | code_bytes[:, column]
        yield band


def _equal_neighbours(
    band: NDArray[np.uint32], order: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    is_equal = np.ones(len(band), dtype=bool)
    for distance in range(1, min(_NEIGHBOURS, len(band) - 1) + 1):
        # The bands are sorted: an entry with no equal one at a distance has none farther away.
        is_equal = is_equal[: len(band) - distance] & (band[distance:] == band[:-distance])
        first = np.flatnonzero(is_equal)
        if not len(first):
            return
        yield order[first], order[first + distance]


def _different_bits(
    codes: NDArray[np.uint64], left: NDArray[np.intp], right: NDArray[np.intp]
) -> NDArray[np.int64]:
    bits = np.bitwise_count(codes[left] ^ codes[right])
    return np.asarray(bits.sum(axis=1, dtype=np.int64))


def _distinct(found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs (3, P) sorted, each once with its fewest bits."""
    found = found[:, np.lexsort(found[::-1])]
    is_new = np.ones(found.shape[1], dtype=bool)
    is_new[1:] = (found[:2, 1:] != found[:2, :-1]).any(axis=0)
    return found[:, is_new]


def _are_nearest(pairs: NDArray[np.int64], most: int, number: int) -> NDArray[np.bool_]:
    """Say which of distinct pairs (3, P) are among the nearest of one of the two, (P,)."""
    ends = pairs[:2].ravel()
    order = np.lexsort((np.tile(pairs[2], 2), ends))
    numbers = np.bincount(ends, minlength=number)
    starts = np.cumsum(numbers) - numbers
    is_near = np.arange(len(ends)) - starts[ends[order]] < most
    is_kept = np.zeros(pairs.shape[1], dtype=bool)
    is_kept[order[is_near] % max(pairs.shape[1], 1)] = True
    return is_kept
