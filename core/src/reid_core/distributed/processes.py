"""Several processes that work together: who they are, and how they put their shares together.

In an evaluation each process reads and embeds a share of the images; then all have all embeddings,
in the order of the data set, and compute the same figures from them. What is exchanged here lies in
main memory, so the backend is gloo whatever the model runs on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from reid_core.distributed.failure import LostExchangeError
from reid_core.errors import DataError, Interrupted, PluginError, ReidError, TrainingError

T = TypeVar("T")

#: Bytes of embeddings that are received at once, from all processes together.
_BYTES_AT_ONCE = 2**26


@dataclass(frozen=True)
class Processes:
    """The processes that share a job; by default this one alone.

    Args:
        rank: Number of this process, from 0.
        count: How many there are.
        group: What they exchange tensors of main memory by; None is the default group.
        start: How often the launcher has started the job, from 1.
    """

    rank: int = 0
    count: int = 1
    group: dist.ProcessGroup | None = None
    start: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Wait at the end of a part of the work for the others, and fail where one of them does.

        Raises:
            TrainingError: Another process failed; its message is in this one.
            Interrupted: Another process was asked to leave by a signal.
        """
        if self.count == 1:
            yield
            return
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        signum = getattr(failure, "signum", None)
        told = [] if failure is None else [(f"process {self.rank}: {failure}", signum)]
        try:
            others = self.gather(told)
        except TrainingError:
            if failure is None:
                raise
            others = []
        if failure is not None:
            raise failure
        if others:
            raise _failure_of_others(others)

    def any(self, flag: bool) -> bool:
        """Say whether the flag of any process is set; all processes have to ask.

        Args:
            flag: This process' own.

        Raises:
            TrainingError: Another process has ended.
        """
        if self.count == 1:
            return flag
        told = torch.tensor([int(flag)])
        with _unless_one_has_ended():
            dist.all_reduce(told, dist.ReduceOp.MAX, group=self.group)
        return bool(told.item())

    def differs(self, number: int) -> bool:
        """Say whether processes have different numbers, each below 2**32; all have to ask."""
        if self.count == 1:
            return False
        told = torch.tensor([number, -number])
        with _unless_one_has_ended():
            dist.all_reduce(told, dist.ReduceOp.MAX, group=self.group)
        largest, smallest = told.tolist()
        return bool(largest != -smallest)

    def from_first(self, value: T) -> T:
        """Return the value of the first process, a small plain one, in every process."""
        if self.count == 1:
            return value
        values = [value]
        with _unless_one_has_ended():
            dist.broadcast_object_list(values, src=0, group=self.group)
        return values[0]

    def gather(self, values: Sequence[T]) -> list[T]:
        """Return the values of all processes, in the order of their ranks; for a few small ones."""
        if self.count == 1:
            return list(values)
        parts: list[list[T]] = [[] for _ in range(self.count)]
        with _unless_one_has_ended():
            dist.all_gather_object(parts, list(values), group=self.group)
        return [value for part in parts for value in part]

    def gather_rows(self, features: Tensor, rows: NDArray[np.int64], num_rows: int) -> Tensor:
        """Put the embeddings of all processes into one table.

        Memory holds this process' share, the table, and 64 MiB besides.

        Args:
            features: (n, D) float32 on the host; a process without rows has n = 0 and any D.
            rows: (n,) rows of the table that they are.
            num_rows: Rows N of the table.

        Returns:
            (N, D) float32, the same in every process.

        Raises:
            DataError: A row is missing, or came from two processes.
            PluginError: The embeddings of two processes differ in width.
        """
        if self.count == 1 and np.array_equal(rows, np.arange(num_rows)):
            return features
        shares = self.gather([(len(rows), int(features.shape[1]))])
        widths = sorted({width for count, width in shares if count})
        if len(widths) > 1:
            told = " and ".join(map(str, widths))
            raise PluginError(
                f"the model gave embeddings of widths {told} in different processes; expected one "
                "width for all images"
            )
        owned = self.gather([rows])
        times = np.bincount(np.concatenate(owned), minlength=num_rows)
        if len(times) != num_rows or (times != 1).any():
            raise DataError(
                f"{int((times == 0).sum())} of {num_rows} images came from no process and "
                f"{int((times > 1).sum())} from several; expected each from one"
            )
        table = torch.empty((num_rows, widths[0]))
        longest = max(map(len, owned))
        step = max(1, min(longest, _BYTES_AT_ONCE // (4 * widths[0] * self.count)))
        for start in range(0, longest, step):
            parts = self._all_parts(features[start : start + step], step, widths[0])
            for part, theirs in zip(parts, owned, strict=True):
                where = theirs[start : start + step]
                table[torch.from_numpy(where)] = part[: len(where)]
        return table

    def _all_parts(self, part: Tensor, length: int, width: int) -> list[Tensor]:
        """Return the parts of all processes, each padded to ``length`` rows."""
        if self.count == 1:
            return [part]
        padded = torch.zeros((length, width))
        padded[: len(part)] = part.reshape(-1, width)
        parts = [torch.empty_like(padded) for _ in range(self.count)]
        with _unless_one_has_ended():
            dist.all_gather(parts, padded, group=self.group)
        return parts


def _failure_of_others(told: Sequence[tuple[str, int | None]]) -> ReidError:
    signals = [signum for _, signum in told if signum is not None]
    if len(signals) == len(told):
        return Interrupted(signals[0])
    texts = "; ".join(text for text, signum in told if signum is None)
    return LostExchangeError(f"the run failed in another process: {texts}")


#: This process alone.
ALONE = Processes()


@contextmanager
def _unless_one_has_ended() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise LostExchangeError(
            "the run cannot go on: another process has ended, and what it wrote says why "
            f"({str(error).splitlines()[0]})"
        ) from error
