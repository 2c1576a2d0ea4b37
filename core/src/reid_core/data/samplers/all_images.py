"""The rule by which an epoch of P×K batches goes through all images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def max_batches(groups: NDArray[np.int64], identities: int) -> int:
    """Return the largest m with ``m * identities <= sum(min(groups, m))``, by bisection.

    That is the most batches of different identities that the groups can fill: an identity can be
    in each of m batches only once.

    Args:
        groups: (I,) groups of each identity, at least 1.
        identities: P, identities a batch.
    """
    low, high = 0, int(groups.sum()) // identities
    while low < high:
        middle = (low + high + 1) // 2
        if middle * identities <= int(np.minimum(groups, middle).sum()):
            low = middle
        else:
            high = middle - 1
    return low


def choose(
    remaining: NDArray[np.int64], left: int, identities: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose the identities of a batch so that the ``left - 1`` after it can be filled too.

    An identity with at least ``left`` groups must be in every batch from here on, or one of its
    groups is lost to the count that made ``left`` batches possible.

    Args:
        remaining: (I,) groups of each identity that were not drawn yet.
        left: Batches still to be made, this one included.
        identities: P.
        rng: Source of randomness.

    Returns:
        (P,) int64, positions in ``remaining``.
    """
    must = np.flatnonzero(remaining >= left)
    if len(must) >= identities:
        return rng.permutation(must)[:identities]
    may = np.flatnonzero((remaining > 0) & (remaining < left))
    others = rng.permutation(may)[: identities - len(must)]
    return rng.permutation(np.concatenate([must, others]))


def least_seen(
    counts: NDArray[np.int64], groups: NDArray[np.int64], instances: int, identities: int
) -> tuple[int, int, bool]:
    """Return how many different images and identities an epoch sees at least.

    Beside the groups of an identity that has more of them than there are batches, fewer than P
    groups find no place in a batch; the bound takes those from where they cost most.

    Args:
        counts: (I,) images of each identity.
        groups: (I,) groups of each identity.
        instances: K.
        identities: P.

    Returns:
        Images, identities, and whether these are the exact numbers of every epoch.
    """
    length = max_batches(groups, identities)
    drawable = np.minimum(groups, length)
    unused = int(drawable.sum()) - length * identities
    images_of_group = np.minimum(counts, instances)
    costs = np.sort(np.repeat(images_of_group, drawable))[::-1][:unused]
    groups_to_lose = np.cumsum(np.sort(drawable))
    lost_identities = int(np.searchsorted(groups_to_lose, unused, side="right"))
    images = int((images_of_group * drawable).sum() - costs.sum())
    return images, len(counts) - lost_identities, unused == 0
