"""P×K sampling: P identities a batch, K images of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError, DataError


class IdentitySampler:
    """Batches of ``identities`` different identities with ``instances`` images each.

    An epoch goes through all images: each identity's images are shuffled and cut into groups of
    ``instances``; what is left over is dropped for this epoch, but an identity with fewer images
    than ``instances`` forms one group in which images repeat. A batch takes groups of different
    identities. An epoch has the largest number m of batches that this allows, for which
    ``m * identities <= sum(min(groups of an identity, m))``; so it is finite and its length exact.

    Args:
        labels: (N,) labels of the rows.
        seed: Seed of every epoch.
        identities: P, identities a batch. Give this or ``size``.
        instances: K, images an identity.
        size: P×K, images a batch.

    Raises:
        ConfigError: Neither or both of ``identities`` and ``size``, a size that is no multiple of
            ``instances``, or one identity a batch.
        DataError: The data has fewer identities than a batch needs.

    Source: Hermans et al., In Defense of the Triplet Loss, 2017 (P×K); the rule that goes through
        all images is the one of Luo et al., Bag of Tricks, 2019.
    """

    def __init__(
        self,
        *,
        labels: NDArray[np.int64],
        seed: int,
        identities: int | None = None,
        instances: int = 4,
        size: int | None = None,
    ) -> None:
        self.instances = instances
        self.identities = _identities_per_batch(identities, instances, size)
        order = np.argsort(labels, kind="stable")
        _, starts = np.unique(labels[order], return_index=True)
        self._rows = np.split(order.astype(np.int64), starts[1:])
        if len(self._rows) < self.identities:
            raise DataError(_too_few(len(self._rows), self.identities, instances))
        counts = np.array([len(rows) for rows in self._rows])
        self._counts = counts
        self._groups = np.maximum(counts // instances, 1)
        self._length = _max_batches(self._groups, self.identities)
        self._seed = seed

    def __len__(self) -> int:
        return self._length

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (P*K,), images of one identity side by side."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        waiting = [self._cut(rows, rng) for rows in self._rows]
        remaining = self._groups.copy()
        for left in range(self._length, 0, -1):
            chosen = _choose(remaining, left, self.identities, rng)
            remaining[chosen] -= 1
            yield np.concatenate([waiting[identity].pop() for identity in chosen])

    def summary(self) -> str:
        """Say what an epoch holds, how much it leaves out, and which identities repeat images."""
        drawn = self._length * self.identities * self.instances
        short = int((self._counts < self.instances).sum())
        text = (
            f"{self._length} batches of {self.identities} identities x {self.instances} images: "
            f"an epoch draws {drawn} from {int(self._counts.sum())} images"
        )
        if short:
            text += (
                f"; {short} identities have fewer than {self.instances} images, theirs repeat "
                "in a batch"
            )
        return text

    def _cut(self, rows: NDArray[np.int64], rng: np.random.Generator) -> list[NDArray[np.int64]]:
        shuffled = rng.permutation(rows)
        if len(shuffled) < self.instances:
            return [np.resize(shuffled, self.instances)]
        whole = len(shuffled) // self.instances * self.instances
        return list(shuffled[:whole].reshape(-1, self.instances))


def _identities_per_batch(identities: int | None, instances: int, size: int | None) -> int:
    if instances < 1:
        raise ConfigError(f"data.batch.instances is {instances}; expected at least 1")
    if (identities is None) == (size is None):
        raise ConfigError(
            "data.batch: give the batch as identities (P) or as size (P*K), "
            f"got identities={identities}, size={size}"
        )
    if identities is None:
        assert size is not None
        if size % instances:
            below = size // instances * instances
            nearest = [n for n in (below, below + instances) if n >= 2 * instances]
            raise ConfigError(
                f"data.batch.size {size} is not a multiple of {instances} instances; the nearest "
                f"that can be used: {' or '.join(map(str, nearest or [2 * instances]))}"
            )
        identities = size // instances
    if identities < 2:
        raise ConfigError(
            f"data.batch has {identities} identities a batch; a metric loss needs at least 2 "
            "to have a negative"
        )
    return identities


def _too_few(available: int, identities: int, instances: int) -> str:
    if available < 2:
        advice = "a metric loss needs at least 2: add data"
    else:
        advice = (
            f"set data.batch.identities to at most {available}, or lower data.batch.size to at "
            f"most {available * instances}"
        )
    return (
        f"a batch of {identities * instances} with {instances} images an identity needs "
        f"{identities} identities, the training data has {available}; {advice}"
    )


def _max_batches(groups: NDArray[np.int64], identities: int) -> int:
    """Return the largest m with ``m * identities <= sum(min(groups, m))``, by bisection."""
    low, high = 0, int(groups.sum()) // identities
    while low < high:
        middle = (low + high + 1) // 2
        if middle * identities <= int(np.minimum(groups, middle).sum()):
            low = middle
        else:
            high = middle - 1
    return low


def _choose(
    remaining: NDArray[np.int64], left: int, identities: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choose the identities of a batch so that the ``left - 1`` after it can be filled too.

    An identity with at least ``left`` groups must be in every batch from here on, or one of its
    groups is lost to the count that made ``left`` batches possible.
    """
    must = np.flatnonzero(remaining >= left)
    if len(must) >= identities:
        return rng.permutation(must)[:identities]
    may = np.flatnonzero((remaining > 0) & (remaining < left))
    others = rng.permutation(may)[: identities - len(must)]
    return rng.permutation(np.concatenate([must, others]))
