"""Plain shuffling, for classification without a metric loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError


class RandomSampler:
    """Shuffled batches of ``size`` rows; an incomplete last batch is left out.

    Args:
        labels: (N,) labels of the rows; only their number counts.
        seed: Seed of every epoch.
        size: Rows a batch, at least 1.

    Raises:
        ConfigError: ``size`` is less than 1.
    """

    def __init__(self, *, labels: NDArray[np.int64], seed: int, size: int = 64) -> None:
        if size < 1:
            raise ConfigError(f"data.batch.size is {size}; expected at least 1")
        self._total = len(labels)
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
        """Say what an epoch holds and how many images it leaves out."""
        unused = self._total - len(self) * self._size
        return (
            f"{len(self)} batches of {self._size}: {self._total - unused} of {self._total} images "
            f"an epoch, {unused} unused"
        )
