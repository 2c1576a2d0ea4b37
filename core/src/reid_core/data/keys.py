"""Sample keys by batch: what a loader asks its workers for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers import EpochSampler
from reid_core.data.shares import BatchShare
from reid_core.errors import PluginError


class SampleKey(NamedTuple):
    """What a worker needs to make one sample: the row, and the seed of its augmentation.

    The seed travels with the index, so a sample is the same whichever worker makes it.
    """

    row: int
    seed: int


class EpochKeys:
    """The batches of one epoch of a sampler, from a given batch on; or the share of a process.

    Each process draws the whole batch, and takes its part: together the processes have the keys of
    one, image by image.

    Args:
        sampler: Draws the rows of each batch.
        seed: Seed of the augmentation.
        num_rows: Rows of the data set; the sampler may not ask for others.
        rank: Number of this process, from 0.
        num_ranks: Processes that share each batch.

    Raises:
        ConfigError: A batch of the first epoch cannot be cut into equal parts of whole groups.
    """

    def __init__(
        self,
        sampler: EpochSampler,
        *,
        seed: int,
        num_rows: int,
        rank: int = 0,
        num_ranks: int = 1,
    ) -> None:
        self.sampler = sampler
        self.seed = seed
        #: Epoch and first batch of the next iteration.
        self.epoch = 0
        self.start = 0
        self._num_rows = num_rows
        self.share = BatchShare(rank, num_ranks, int(getattr(sampler, "instances", 1)))
        if num_ranks > 1:
            # Told before anything is trained.
            for count, rows in enumerate(itertools.islice(sampler.batches(0), len(sampler))):
                self.share.rows(len(self._checked(rows, f"batch {count} of epoch 0")))

    def __len__(self) -> int:
        return len(self.sampler) - self.start

    def __iter__(self) -> Iterator[list[SampleKey]]:
        """Yield the keys of each batch.

        Raises:
            PluginError: The sampler does not keep what :class:`EpochSampler` promises.
            ConfigError: A batch cannot be cut into equal parts of whole groups.
        """
        epoch, start, length = self.epoch, self.start, len(self.sampler)
        count = start
        for rows in itertools.islice(self.sampler.batches(epoch), start, None):
            if count == length:
                raise self._broken_promise(f"gave more than the {length} batches of its length")
            rows = self._checked(rows, f"batch {count} of epoch {epoch}")
            seeds = _seeds((self.seed, epoch, count, 0), len(rows))
            keys = [SampleKey(row, s) for row, s in zip(rows.tolist(), seeds, strict=True)]
            yield keys[self.share.rows(len(keys))]
            count += 1
        if count < length:
            raise self._broken_promise(f"gave {count} batches in epoch {epoch}, not {length}")

    def _checked(self, batch: object, where: str) -> NDArray[np.int64]:
        rows = np.asarray(batch)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
            raise self._broken_promise(
                f"gave {type(batch).__name__} {str(batch)[:40]} for {where}; expected a sequence "
                "of rows: it yields whole batches, not single rows"
            )
        wrong = rows[(rows < 0) | (rows >= self._num_rows)]
        if len(wrong):
            raise self._broken_promise(
                f"gave row {wrong[0]} in {where}; the data has rows 0..{self._num_rows - 1}"
            )
        return rows.astype(np.int64)

    def _broken_promise(self, what: str) -> PluginError:
        kind = type(self.sampler)
        return PluginError(f"sampler {kind.__name__} of {kind.__module__} {what}")


class RowKeys:
    """All rows once, in their order, or the share of one of several processes.

    Processes share whole batches, in turn: each image is computed in the company it would have in
    one process, so that it gets the same numbers, bit by bit. No row is repeated to make shares
    equal.

    Args:
        num_rows: How many there are.
        batch_size: Rows a batch; the last one may be smaller.
        rank: Number of this process, from 0.
        num_ranks: Processes that share the rows.
    """

    def __init__(
        self, num_rows: int, batch_size: int, *, rank: int = 0, num_ranks: int = 1
    ) -> None:
        self._num_rows = num_rows
        self._batch_size = batch_size
        self._starts = range(rank * batch_size, num_rows, num_ranks * batch_size)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of this process, ascending, (n,) int64; none where there are few batches."""
        rows = [np.arange(start, self._stop(start)) for start in self._starts]
        return np.concatenate([np.empty(0, dtype=np.int64), *rows])

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[list[SampleKey]]:
        for start in self._starts:
            yield [SampleKey(row, 0) for row in range(start, self._stop(start))]

    def _stop(self, start: int) -> int:
        return min(start + self._batch_size, self._num_rows)


def _seeds(entropy: Sequence[int], count: int) -> list[int]:
    seeds: list[int] = np.random.SeedSequence(entropy).generate_state(count, np.uint64).tolist()
    return seeds
