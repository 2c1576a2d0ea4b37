"""What several processes do as one before they train."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from reid_core.checkpoint.folder import load_checkpoint
from reid_core.checkpoint.random_state import seed_everything
from reid_core.config.training import DistributedConfig
from reid_core.contracts import ReidModel
from reid_core.distributed.processes import Processes
from reid_core.engine.parallel.data_parallel import DataParallel, require_gathered
from reid_core.engine.parallel.fsdp import ShardedModel
from reid_core.engine.parallel.sync_batch_norm import synchronise_batch_norm
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.resuming.resume import find_checkpoint

log = logging.getLogger("reid_core")


def share_model(
    model: ReidModel, processes: Processes, config: DistributedConfig
) -> DataParallel | ShardedModel | None:
    """Prepare a model that several processes train; a process alone calls it as it is.

    Args:
        model: The bare model; before its optimizer is built.
        processes: Those that train it.
        config: How.

    Returns:
        What to call in training; None for the model itself.

    Raises:
        ConfigError: A loss must see the batches of all processes, and does not.
    """
    if processes.count == 1:
        return None
    require_gathered(model, processes)
    if config.sync_batch_norm:
        number = synchronise_batch_norm(model)
        log.info("%d batch normalisations use the statistics of the whole batch", number)
    if config.strategy == "fsdp":
        return ShardedModel(model, processes)
    return DataParallel(model, find_unused=config.find_unused_parameters)


def seed_process(seed: int, processes: Processes, *, step: int = 0) -> None:
    """Seed the global generators of a process other than the first, once its model is built.

    All processes build the same model; then each draws dropout, say, of its own. The first one goes
    on as a process alone does.

    Args:
        seed: Seed of the run.
        processes: This process and the others.
        step: Steps done.
    """
    if not processes.is_first:
        entropy = np.random.SeedSequence((seed, processes.rank, step))
        seed_everything(int(entropy.generate_state(1)[0]))


def claim_together(folder: RunFolder, processes: Processes) -> None:
    """Make the run folder; of several processes the first one does, and the others learn its name.

    Raises:
        UsageError: It holds another run.
    """
    with processes.together():
        if processes.is_first:
            folder.claim()
    folder.path = processes.from_first(folder.path)


def find_together(
    resume: str | Path | None, folder: RunFolder, processes: Processes
) -> tuple[Path, dict[str, object]] | None:
    """Load the checkpoint to go on from, the one that the first process chose.

    Args:
        resume: As in :func:`find_checkpoint`.
        folder: The run folder, which all processes can read.
        processes: Those that go on.

    Returns:
        Its path and state; None to start anew.

    Raises:
        CheckpointError: The path names nothing that can be resumed.
    """
    found = None
    with processes.together():
        if processes.is_first:
            found = find_checkpoint(resume, folder)
    path = processes.from_first(None if found is None else found[0])
    with processes.together():
        if path is not None and found is None:
            found = path, load_checkpoint(path)
    return found
