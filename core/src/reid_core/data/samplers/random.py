"""Plain shuffling, for classification without a metric loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.coverage import Share, coverage
from reid_core.errors import ConfigError


class RandomSampler:
    """Shuffled batches of ``size`` rows; an incomplete last batch is left out.

    Args:
        labels: (N,) labels of the rows; which they are only counts for the summary.
        seed: Seed of every epoch.
        size: Rows a batch, at least 1.

    Raises:
        ConfigError: ``size`` is less than 1.
    """

    def __init__(self, *, labels: NDArray[np.int64], seed: int, size: int = 64) -> None:
        if size < 1:
            raise ConfigError(f"data.batch.size is {size}; expected at least 1")
        self._total = len(labels)
        _, self._counts = np.unique(labels, return_counts=True)
        self._size = size
        self._seed = seed

    def __len__(self) -> int:
        return self._total // self._size

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (size,)."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        order = rng.permutation(self._total).astype(np.int64)
        for start in range(0, len(self) * self._size, self._size):
            yield order[start : start + self._size]

    def summary(self) -> str:
        """Say what an epoch holds, how much it sees, and how many images it leaves out."""
        used = len(self) * self._size
        unseen = float(_chance_of_none(self._counts, used, self._total).sum())
        people = len(self._counts)
        identities = Share(people - unseen, people, "expected" if unseen else "exact")
        return (
            f"{len(self)} batches of {self._size}: an epoch draws {used} from {self._total} "
            f"images, {coverage(Share(used, self._total), identities)}; "
            f"{self._total - used} images unused"
        )


def _chance_of_none(counts: NDArray[np.int64], used: int, total: int) -> NDArray[np.float64]:
    """Return the probability that an epoch uses none of ``counts`` images, (I,).

    All of them are then among the ``total - used`` unused ones: the product over j < count of
    (unused − j) / (total − j).
    """
    unused = total - used
    factors = [(unused - j) / (total - j) for j in range(min(unused, int(counts.max(initial=0))))]
    products = np.cumprod([1.0, *factors])
    return np.where(counts < len(products), products[np.minimum(counts, len(products) - 1)], 0.0)
