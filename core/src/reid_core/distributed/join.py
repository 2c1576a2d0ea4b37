"""Joining the processes that torchrun started."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Literal

import torch
import torch.distributed as dist

from reid_core.distributed.launcher_store import has_launcher
from reid_core.distributed.process_group import make_group, start_alone
from reid_core.distributed.processes import ALONE, Processes
from reid_core.errors import ConfigError, UsageError

log = logging.getLogger("reid_core")

#: What tensors of a model are exchanged by.
Backend = Literal["auto", "nccl", "gloo"]


@contextmanager
def joined_processes(
    *, backend: Backend = "gloo", device: str = "auto", timeout_minutes: float = 30.0
) -> Iterator[Processes]:
    """Join the processes that torchrun started; without torchrun be alone.

    The process group is made of what torchrun says in the environment, and taken apart at the end;
    one that exists already is used as it is. Each process takes the GPU of its local rank. Only the
    first one shows what is no error.

    Args:
        backend: Backend of the default group, by which gradients go; ``auto`` is nccl where there
            is an NVIDIA GPU to train on, else gloo. What lies in main memory goes by gloo anyway.
        device: Device that the config names.
        timeout_minutes: How long a process waits for the others before it gives up.

    Yields:
        The processes.

    Raises:
        UsageError: ``WORLD_SIZE`` is set, and what belongs to it is not or does not fit; or the
            port is taken.
        ConfigError: nccl is asked for, and there is no NVIDIA GPU for each process; or ``device``
            is one GPU.
    """
    if dist.is_available() and dist.is_initialized():
        processes = current_processes()
        with _quiet_but_for_errors(processes.rank):
            yield processes
        return
    if _from_environment("WORLD_SIZE", default=1) == 1:
        yield replace(ALONE, start=start_alone()) if has_launcher() else ALONE
        return
    rank, count = _from_environment("RANK"), _from_environment("WORLD_SIZE")
    if rank >= count:
        # It would wait for the others until it gives up, and they for another one.
        raise UsageError(
            f"RANK is {rank} and WORLD_SIZE is {count}; expected RANK from 0 to WORLD_SIZE - 1: "
            "start several processes by torchrun --nproc-per-node N, or unset WORLD_SIZE"
        )
    chosen = _chosen(backend, device)
    # Before the group is made: nccl would otherwise take the first GPU in every process.
    _use_gpu(_from_environment("LOCAL_RANK", default=rank), chosen)
    start = make_group(chosen, rank=rank, count=count, timeout_minutes=timeout_minutes)
    try:
        with _quiet_but_for_errors(rank):
            log.info("%d processes", count)
            yield replace(current_processes(timeout_minutes=timeout_minutes), start=start)
    finally:
        dist.destroy_process_group()


def current_processes(*, timeout_minutes: float | None = None) -> Processes:
    """Return the processes of the default group; this one alone where there is none.

    All processes have to call it: a default group that is not gloo gets one of gloo beside it.

    Args:
        timeout_minutes: How long one waits for the others; None is torch's default.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return ALONE
    timeout = None if timeout_minutes is None else timedelta(minutes=timeout_minutes)
    is_gloo = dist.get_backend() == "gloo"
    made = None if is_gloo else dist.new_group(backend="gloo", timeout=timeout)
    group = made if isinstance(made, dist.ProcessGroup) else None
    return Processes(dist.get_rank(), dist.get_world_size(), group)


def _chosen(backend: Backend, device: str) -> Literal["nccl", "gloo"]:
    if ":" in device:
        raise ConfigError(
            f"device is {device!r}, and several processes train: each takes the GPU of its own "
            "number; expected auto, cuda or cpu (CUDA_VISIBLE_DEVICES chooses GPUs)"
        )
    is_on_gpu = device in ("auto", "cuda")
    has_gpu = is_on_gpu and torch.cuda.is_available() and dist.is_nccl_available()
    if backend == "auto":
        return "nccl" if has_gpu else "gloo"
    if backend == "nccl" and not has_gpu:
        raise ConfigError(
            f"train.distributed.backend is nccl, which needs an NVIDIA GPU; device is {device}, "
            "and none can be used; expected auto or gloo"
        )
    return backend


def _use_gpu(local_rank: int, backend: Literal["nccl", "gloo"]) -> None:
    if not torch.cuda.is_available():
        return
    count = torch.cuda.device_count()
    if backend == "nccl" and local_rank >= count:
        raise ConfigError(
            f"process {local_rank} of this machine has no GPU of its own: {count} can be used, and "
            f"nccl wants one for each process; expected --nproc-per-node {count} at most, or "
            "train.distributed.backend=gloo"
        )
    torch.cuda.set_device(local_rank % count)


def _from_environment(name: str, *, default: int | None = None) -> int:
    text = os.environ.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        names = dict.fromkeys(("WORLD_SIZE", name))
        found = " and ".join(f"{n} is {os.environ.get(n, 'not set')!r}" for n in names)
        raise UsageError(
            f"{found}; expected whole numbers: start several processes by torchrun "
            "--nproc-per-node N, or unset WORLD_SIZE"
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
