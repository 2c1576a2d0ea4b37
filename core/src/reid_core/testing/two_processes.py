"""A tiny run in each of two processes that form a gloo process group."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reid_core.testing.tiny_run import TinyRun, TinyTrainer

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

WORLD_SIZE = 2

#: Batches of the same size as a tiny run's, which can be dealt to two.
_SHARED_BATCHES = {
    "data.batch.identities": 6,
    "data.batch.instances": 2,
    "train.distributed.sync_batch_norm": True,
}


@dataclass(frozen=True)
class RankReport:
    """How the run of one process ended.

    Args:
        error: What it raised, with its traceback; empty when it did not.
        status: The outcome's status.
        steps: Steps done.
        weights: The model's state.
    """

    error: str = ""
    status: str = ""
    steps: int = 0
    weights: dict[str, Tensor] | None = None


def run_in_two_processes(
    run: TinyRun, folder: Path, *, timeout_seconds: float
) -> list[RankReport | None]:
    """Train one run in two processes, which share its batches and its run folder.

    Both belong to one process group, and ``RANK``, ``LOCAL_RANK`` and ``WORLD_SIZE`` are set as
    torchrun sets them. Gradients are averaged, and batch statistics are those of the whole batch:
    weights and buffers stay equal, so whatever makes them differ is the hook's doing.

    Args:
        run: What is trained.
        folder: An empty folder.
        timeout_seconds: Time until both have to be done.

    Returns:
        A report a rank; None for one that did not end in time or died.
    """
    context = clean_context()
    shared = replace(run, settings={**_SHARED_BATCHES, **run.settings})
    shared.config(folder)  # writes the data, which both read
    given_by_all = (shared, str(folder), timeout_seconds, dict(os.environ))
    arguments = [(rank, *given_by_all) for rank in range(WORLD_SIZE)]
    processes = [context.Process(target=_run_rank, args=given) for given in arguments]
    for process in processes:
        process.start()
    try:
        _wait(processes, time.monotonic() + timeout_seconds)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
            process.join()
    return [_read(folder / f"rank{rank}.pt") for rank in range(WORLD_SIZE)]


def clean_context() -> ForkServerContext | SpawnContext:
    """Return how processes are started that share nothing with this one.

    A fork of this process would inherit its threads; a server forks clean ones, and imports torch
    once for all runs.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _wait(processes: Sequence[BaseProcess], deadline: float) -> None:
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))


def _read(path: Path) -> RankReport | None:
    if not path.is_file():
        return None
    return RankReport(**torch.load(path, weights_only=True))


def take_environment(variables: Mapping[str, str]) -> None:
    """Have the variables of the process that asks: a server's children have those of its start."""
    os.environ.clear()
    os.environ.update(variables)


def _run_rank(
    rank: int, run: TinyRun, folder: str, timeout_seconds: float, variables: Mapping[str, str]
) -> None:
    """Run one rank and leave its report in a file; the body of the child process."""
    torch.set_num_threads(1)
    take_environment(variables)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(WORLD_SIZE)}
    if sys.platform != "win32":
        # The host's own name may lead nowhere, in a container for example.
        loopback = "lo0" if sys.platform == "darwin" else "lo"
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback)
    try:
        torch.distributed.init_process_group(
            "gloo",
            init_method=(Path(folder) / "rendezvous").as_uri(),
            rank=rank,
            world_size=WORLD_SIZE,
            timeout=timedelta(seconds=timeout_seconds),
        )
        report = _train(run, Path(folder))
        torch.distributed.destroy_process_group()
    except BaseException:
        report = {"error": traceback.format_exc()}
    path = Path(folder) / f"rank{rank}.pt"
    torch.save(report, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def _train(run: TinyRun, folder: Path) -> dict[str, object]:
    trainer = TinyTrainer(run.config(folder))
    outcome = trainer.train()
    return {
        "status": outcome.status,
        "steps": trainer.iter,
        "weights": trainer.model.state_dict(),
    }
