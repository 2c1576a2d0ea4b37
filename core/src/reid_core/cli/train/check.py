"""``reid-train --check``."""

from __future__ import annotations

import click

from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.settled import settled_before_data
from reid_core.logs import logging_to


def check(request: TrainRequest) -> int:
    """Do everything up to the first step; return the exit code."""
    config, resume = request.config, request.resume
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.resuming.resume import folder_to_resume
    from reid_core.engine.trial.preflight import check_first_batch, check_images

    with logging_to(verbose=request.verbose):
        folder = folder_to_resume(config, resume)
        config = settled_before_data(request, resume, folder)
        trainer = DefaultTrainer(config, folder)
        trainer.resume_or_load(resume, changes=request.changes)
        check_images(trainer)
        check_first_batch(trainer)
    click.echo(
        f"ok: {trainer.max_iter} steps in {trainer.max_epoch} epochs on {trainer.device}, "
        f"{len(trainer.components)} components, nothing was written"
    )
    return 0
