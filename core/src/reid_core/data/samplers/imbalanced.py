"""Random batches in which every identity has the same chance, however many images it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.coverage import Share, coverage
from reid_core.errors import ConfigError


class ImbalancedSampler:
    """Batches of ``size`` rows drawn with replacement, each with weight 1 / images of its identity.

    An epoch has as many whole batches as the data has images for.

    Args:
        labels: (N,) labels of the rows.
        seed: Seed of every epoch.
        size: Rows a batch, at least 1.

    Raises:
        ConfigError: ``size`` is less than 1.

    Source: He et al., FastReID, 2020 (its ImbalancedDatasetSampler).
    """

    def __init__(self, *, labels: NDArray[np.int64], seed: int, size: int = 64) -> None:
        if size < 1:
            raise ConfigError(f"data.batch.size is {size}; expected at least 1")
        self._order = np.argsort(labels, kind="stable").astype(np.int64)
        _, self._starts, self._counts = np.unique(
            labels[self._order], return_index=True, return_counts=True
        )
        self._size = size
        self._seed = seed

    def __len__(self) -> int:
        return len(self._order) // self._size

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (size,)."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        for _ in range(len(self)):
            identities = rng.integers(len(self._counts), size=self._size)
            within = rng.integers(self._counts[identities])
            yield self._order[self._starts[identities] + within]

    def summary(self) -> str:
        """Say what an epoch holds, and how much of the data it sees."""
        draws, total, people = len(self) * self._size, len(self._order), len(self._counts)
        missed = (1 - 1 / (people * self._counts)) ** draws
        images = Share(float((self._counts * (1 - missed)).sum()), total, "expected")
        identities = Share(people * (1 - (1 - 1 / people) ** draws), people, "expected")
        return (
            f"{len(self)} batches of {self._size}, each identity with the same chance: an epoch "
            f"draws {draws} from {total} images, with replacement, {coverage(images, identities)}"
        )
