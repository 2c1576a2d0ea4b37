"""One process's share of the batches of a sampler."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.base import EpochSampler
from reid_core.errors import ConfigError


class ShardedSampler:
    """The share of a process in every batch of another sampler.

    Each batch is cut into ``world`` parts of equal length, and process ``rank`` gets part number
    ``rank``, in the batch's order. All processes draw the whole batch from the same seed, so the
    parts of a step are those of one batch: together they hold each of its rows once. A sampler of
    groups says with the attribute ``instances`` how many rows side by side belong together; they
    stay together, so each process has whole identities to mine among.

    Args:
        sampler: Draws the batches of all processes together.
        rank: Number of this process, 0..``world`` − 1.
        world: Number of processes.

    Raises:
        ConfigError: ``rank`` is none of the processes, or a batch cannot be cut into ``world``
            parts of whole groups.
    """

    def __init__(self, sampler: EpochSampler, rank: int, world: int) -> None:
        if not 0 <= rank < world:
            raise ConfigError(
                f"process {rank} of {world}: expected a rank from 0 to {world - 1}, and at least "
                "one process"
            )
        self._sampler = sampler
        self._rank = rank
        self._world = world
        #: Rows side by side that belong together.
        self.instances = int(getattr(sampler, "instances", 1))
        for batch in sampler.batches(0):
            self._share(batch)  # a batch that cannot be dealt is told before anything is trained
            break

    def __len__(self) -> int:
        return len(self._sampler)

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield this process's part of each batch, (B / world,).

        Raises:
            ConfigError: A batch cannot be cut into equal parts of whole groups.
        """
        for batch in self._sampler.batches(epoch):
            yield self._share(batch)

    def summary(self) -> str:
        """Say what an epoch of all processes holds, and which part this one has."""
        return f"{self._sampler.summary()}; process {self._rank} has 1/{self._world} of each batch"

    def _share(self, batch: NDArray[np.int64]) -> NDArray[np.int64]:
        groups = len(batch) // self.instances
        if len(batch) % self.instances or groups % self._world:
            of_what = "images" if self.instances == 1 else f"identities x {self.instances} images"
            nearest = [n for n in (groups // self._world * self._world,) if n]
            nearest.append((groups // self._world + 1) * self._world)
            raise ConfigError(
                f"a batch of {groups} {of_what} cannot be dealt to {self._world} processes evenly; "
                f"make it {' or '.join(map(str, nearest))}"
            )
        length = len(batch) // self._world
        return batch[self._rank * length : (self._rank + 1) * length]
