"""A trainer for trying something out, whose run folder is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.settled import settled_before_data
from reid_core.logs import logging_to

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer


@contextmanager
def stand_in_trainer(request: TrainRequest, *, needs_output: bool) -> Iterator[DefaultTrainer]:
    """Build the trainer of a request, where ``--resume`` says, on a folder that is removed again.

    Args:
        request: What is tried out.
        needs_output: Whether an output that could not be written is refused, as a run would.

    Yields:
        The trainer, before its first step.

    Raises:
        UsageError: The output of a new run is taken.
    """
    config, resume = request.config, request.resume
    from reid_core.distributed.failure_watch import watched
    from reid_core.distributed.join import joined_processes
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.record.run_folder import RunFolder
    from reid_core.engine.resuming.resume import folder_to_resume
    from reid_core.engine.signals import graceful_signals

    distributed = config.train.distributed
    with ExitStack() as stack:
        stack.enter_context(logging_to(verbose=request.verbose))
        processes = stack.enter_context(
            joined_processes(
                backend=distributed.backend,
                device=config.device,
                timeout_minutes=distributed.timeout_minutes,
            )
        )
        watch = stack.enter_context(watched(processes))
        real = processes.from_first(folder_to_resume(config, resume))
        config = settled_before_data(request, resume, real, needs_output=needs_output)
        where = None
        if processes.is_first:
            where = stack.enter_context(tempfile.TemporaryDirectory(prefix="reid-train-"))
        folder = RunFolder(Path(str(processes.from_first(where))) / "run")
        trainer = DefaultTrainer(config, folder, processes=processes)
        if resume == "auto":
            newest = real.checkpoints.load_latest()
            resume = None if newest is None else str(newest[0])
        trainer.failure_watch = watch
        trainer.resume_or_load(resume, changes=request.changes)
        stack.enter_context(graceful_signals(trainer))
        yield trainer
