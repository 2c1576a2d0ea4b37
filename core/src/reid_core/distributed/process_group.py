"""The default process group of a job that a launcher has started."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Literal

import torch.distributed as dist

from reid_core.distributed.launcher_store import connect, has_launcher, prefixed
from reid_core.distributed.start_number import agreed_start
from reid_core.errors import UsageError


def make_group(
    backend: Literal["nccl", "gloo"], *, rank: int, count: int, timeout_minutes: float
) -> int:
    """Make the default process group of what the launcher says in the environment.

    Args:
        backend: What tensors are exchanged by.
        rank: Number of this process.
        count: How many there are.
        timeout_minutes: How long a process waits for the others.

    Returns:
        Number of this start of the job, from 1; above 1 after torchrun has started it anew.

    Raises:
        UsageError: The port is taken, or the address leads nowhere.
        TrainingError: A process did not come in time.
    """
    timeout = timedelta(minutes=timeout_minutes)
    try:
        store, _, _ = next(
            dist.rendezvous("env://", rank, count, timeout=timeout)  # type: ignore[attr-defined]
        )
    except dist.DistNetworkError as error:
        raise UsageError(_explain(error)) from error
    except ValueError as error:
        raise UsageError(
            f"RANK and WORLD_SIZE are set, and the rest is not: {error}; start several processes "
            "by torchrun --nproc-per-node N, which sets MASTER_ADDR and MASTER_PORT too"
        ) from error
    start = 1
    if has_launcher():
        start = agreed_start(
            prefixed("start", store), rank, count, timeout_seconds=timeout.total_seconds()
        )
        # Or this start would connect to processes of the last one.
        store = prefixed(f"start_{start}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=timeout)
    return start


def start_alone() -> int:
    """Return the number of this start of a job of one process; it gets no group."""
    store = connect("start")
    return 1 if store is None else store.add("starts", 1)


def _explain(error: dist.DistNetworkError) -> str:
    address = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    text = str(error)
    if "EADDRINUSE" in text or "already in use" in text:
        return (
            f"port {os.environ.get('MASTER_PORT')} is in use, by another job on this machine say, "
            "and the processes of this one need it to find each other; choose a free one by "
            "torchrun --master-port PORT, or let torchrun choose by --standalone"
        )
    return (
        f"the processes cannot find each other at {address} ({text.splitlines()[0]}); MASTER_ADDR "
        "and MASTER_PORT must name the machine of process 0 and a port that all can reach"
    )
