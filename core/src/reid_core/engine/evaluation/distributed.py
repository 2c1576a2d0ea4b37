"""Several processes that evaluate together: who they are, and how they put their shares together.

Each process reads and embeds a share of the images; then all have all embeddings, in the order of
the data set, and compute the same figures from them. What is exchanged lies in main memory, so the
backend is gloo whatever the model runs on.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import DataError, PluginError, TrainingError, UsageError

log = logging.getLogger("reid_core")

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
    """

    rank: int = 0
    count: int = 1
    group: dist.ProcessGroup | None = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Wait at the end of a part of the work for the others, and fail where one of them does.

        Raises:
            TrainingError: Another process failed; its message is in this one.
        """
        if self.count == 1:
            yield
            return
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        told = [] if failure is None else [f"process {self.rank}: {failure}"]
        try:
            others = self.gather(told)
        except TrainingError:
            if failure is None:
                raise
            others = []
        if failure is not None:
            raise failure
        if others:
            raise TrainingError("the evaluation failed in another process: " + "; ".join(others))

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


#: This process alone.
ALONE = Processes()


@contextmanager
def distributed_evaluation() -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun be alone.

    The process group is made of what torchrun says in the environment, and taken apart at the end;
    one that exists already is used as it is. Each process takes the GPU of its local rank. Only the
    first one shows what is no error.

    Yields:
        The processes.

    Raises:
        UsageError: ``WORLD_SIZE`` is set, and what belongs to it is not.
    """
    if dist.is_available() and dist.is_initialized():
        is_gloo = dist.get_backend() == "gloo"
        made = None if is_gloo else dist.new_group(backend="gloo")
        group = made if isinstance(made, dist.ProcessGroup) else None
        with _quiet_but_for_errors(dist.get_rank()):
            yield Processes(dist.get_rank(), dist.get_world_size(), group)
        return
    if _from_environment("WORLD_SIZE", default=1) == 1:
        yield ALONE
        return
    rank, count = _from_environment("RANK"), _from_environment("WORLD_SIZE")
    _use_gpu(_from_environment("LOCAL_RANK", default=rank))
    dist.init_process_group("gloo")
    try:
        with _quiet_but_for_errors(rank):
            log.info("evaluation on %d processes", count)
            yield Processes(rank, count)
    finally:
        dist.destroy_process_group()


@contextmanager
def _unless_one_has_ended() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise TrainingError(
            "the evaluation cannot go on: another process has ended, and what it wrote says why "
            f"({str(error).splitlines()[0]})"
        ) from error


def _use_gpu(local_rank: int) -> None:
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank % torch.cuda.device_count())


def _from_environment(name: str, *, default: int | None = None) -> int:
    text = os.environ.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise UsageError(
            f"WORLD_SIZE is {os.environ.get('WORLD_SIZE')!r} and {name} is {text or 'not set'!r}; "
            "expected whole numbers: start several processes by torchrun --nproc-per-node N, or "
            "unset WORLD_SIZE"
        )
    return int(text)


@contextmanager
def _quiet_but_for_errors(rank: int) -> Iterator[None]:
    """Leave what all processes say to the first one."""
    if rank == 0:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
