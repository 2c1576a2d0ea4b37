"""The first batches of another sampler."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.base import EpochSampler


class LimitedSampler:
    """An epoch of at most so many batches of another sampler.

    The batches that are left are those of the whole epoch, row by row.

    Args:
        sampler: Draws the batches.
        num_batches: Batches that an epoch has at most, at least 1; more than there are is all.
    """

    def __init__(self, sampler: EpochSampler, num_batches: int) -> None:
        self._sampler = sampler
        self._num_batches = min(num_batches, len(sampler))
        #: Rows side by side that belong together.
        self.instances = int(getattr(sampler, "instances", 1))

    def __len__(self) -> int:
        return self._num_batches

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the first batches of an epoch, each (B,)."""
        yield from islice(self._sampler.batches(epoch), self._num_batches)

    def summary(self) -> str:
        """Say what a whole epoch holds, and how much of it is used."""
        whole = len(self._sampler)
        if self._num_batches == whole:
            return self._sampler.summary()
        return f"{self._sampler.summary()}; only the first {self._num_batches} of {whole} batches"
