"""Joining the processes that torchrun started."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist

from reid_core.distributed.processes import ALONE, Processes
from reid_core.errors import UsageError

log = logging.getLogger("reid_core")


@contextmanager
def joined_processes() -> Iterator[Processes]:
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
            log.info("%d processes", count)
            yield Processes(rank, count)
    finally:
        dist.destroy_process_group()


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
