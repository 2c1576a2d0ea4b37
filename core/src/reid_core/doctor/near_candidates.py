"""Which pictures are worth comparing, and what is left out so that it does not take for ever."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from reid_core.doctor.candidates import near_pairs
from reid_core.doctor.row_labels import PLACES, RowLabels
from reid_core.doctor.scan import Scan

#: Pictures that one is compared with, the most alike ones. Frames of a fixed camera are all alike.
_MOST_ALIKE = 100
#: Pairs that are compared in all, and one more a picture: it takes about as long as reading them.
_FEWEST_PAIRS = 20_000
#: Bits of 192 that may differ. Of copies of half the size or JPEG quality 25 it is 4 in the middle,
#: of copies that were cut by two pixels of 64 it is 17.
_MAX_BITS = 36
#: Rows of equal pixels, each of another split or identity, that stand for all of them.
_MAX_MEMBERS = 8


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of pictures that may be copies.

    Args:
        pairs: (P, 2) int64 rows.
        has_more: (M,) rows of pictures that look like more others than they are compared with.
    """

    pairs: NDArray[np.int64]
    has_more: NDArray[np.int64]


def find_candidates(scan: Scan, labels: RowLabels) -> Candidates:
    """Find pairs whose codes are nearly equal, in different splits or of different identities.

    Images that are the same pixel for pixel are one picture; it is compared once.

    Args:
        scan: The images of all sets.
        labels: Their labels.
    """
    facts = scan.facts
    rows = np.flatnonzero(facts["is_read"] & ~facts["is_blank"])
    groups = labels.splits.astype(np.int64) + labels.pids * len(PLACES)
    members = _members(rows, facts["pixel_digest"][rows], groups)
    first = np.array([one[0] for one in members], dtype=np.int64)
    # A picture with several labels may be compared with any other.
    group = np.array(
        [groups[one[0]] if len(one) == 1 else -1 - at for at, one in enumerate(members)],
        dtype=np.int64,
    )
    # A picture and its mirror image have a code each.
    codes = np.concatenate([facts["print"][first], facts["mirror_print"][first]])
    owners = np.tile(np.arange(len(first)), 2)
    near = near_pairs(
        codes,
        owners,
        group,
        max_bits=_MAX_BITS,
        most=_MOST_ALIKE,
        most_in_all=_FEWEST_PAIRS + len(first),
    )
    chosen = [
        _labelled(members[left], members[right], labels) for left, right in near.pairs.tolist()
    ]
    return Candidates(np.array(chosen, dtype=np.int64).reshape(-1, 2), first[near.has_more])


def _members(
    rows: NDArray[np.intp], digests: NDArray[np.uint64], groups: NDArray[np.int64]
) -> list[list[int]]:
    """Return for each picture its first row of each split and identity, in the order of rows."""
    members: dict[int, dict[int, int]] = {}
    for row, digest in zip(rows.tolist(), digests.tolist(), strict=True):
        of_group = members.setdefault(digest, {})
        if len(of_group) < _MAX_MEMBERS:
            of_group.setdefault(int(groups[row]), row)
    return [list(of_group.values()) for of_group in members.values()]


def _labelled(one: list[int], other: list[int], labels: RowLabels) -> list[int]:
    """Return the rows of two pictures between which a copy does the greatest harm."""
    if len(one) == len(other) == 1:
        return [one[0], other[0]]
    pairs = [sorted(pair) for pair in product(one, other)]
    return min(pairs, key=lambda pair: (PLACES.index(labels.place(pair)), pair))
