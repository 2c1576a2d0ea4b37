"""``reid-train``: the run itself."""

from __future__ import annotations

import logging
from functools import partial

import click

from reid_core.cli.train.printed import print_results
from reid_core.cli.train.profile import Profile
from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.settled import settled_before_data
from reid_core.errors import TrainingError
from reid_core.logs import logging_to
from reid_core.plain_errors import plain_errors

log = logging.getLogger("reid_core")


def train(request: TrainRequest) -> int:
    """Train, or go on with a run; return the exit code."""
    config, resume = request.config, request.resume
    from reid_core.distributed.failure import OtherProcessError
    from reid_core.distributed.failure_watch import watched
    from reid_core.distributed.join import joined_processes
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.parallel.restart import RestartNote
    from reid_core.engine.record.failed_status import write_failure
    from reid_core.engine.resuming.resume import folder_to_resume
    from reid_core.engine.signals import graceful_signals
    from reid_core.errors import Interrupted

    distributed = config.train.distributed
    with (
        logging_to(verbose=request.verbose) as log_file,
        joined_processes(
            backend=distributed.backend,
            device=config.device,
            timeout_minutes=distributed.timeout_minutes,
        ) as processes,
        watched(processes) as watch,
    ):
        note = RestartNote(processes)
        earlier, resume = note.place(resume)
        folder = earlier or processes.from_first(folder_to_resume(config, resume))
        config = settled_before_data(request, resume, folder)
        trainer = DefaultTrainer(config, folder, processes=processes)
        trainer.failure_watch = watch
        trainer.resume_or_load(resume, changes=request.changes)
        # Only now: a config that cannot work leaves no folder behind.
        trainer.claim_folder()
        note.claimed(trainer.folder)
        trainer.register_hooks([note, *request.hooks])
        if trainer.start_iter >= trainer.max_iter:
            log.info("nothing to train: all %d steps are done", trainer.max_iter)
        if watch is not None:
            watch.at_forced_exit = partial(write_failure, trainer)
        if processes.is_first:
            log_file.open(folder.path / "train.log")
        profile = Profile(trainer) if request.profile and processes.is_first else None
        trace = trainer.hooks.trace() if request.trace_hooks else None
        try:
            with graceful_signals(trainer):
                trainer.train()
        except SystemExit as error:
            # Its own code would tell a scheduler that all went well.
            raise _ended_by_exit(error) from error
        except OtherProcessError as error:
            write_failure(trainer, error.failure)
            raise
        except Interrupted as error:
            error.add_note(f"go on with: {folder.resume_command}")
            raise
        except OSError as error:
            if plain_errors(error) and folder.checkpoints.paths():
                error.add_note(f"make room, then go on with: {folder.resume_command}")
            raise
        finally:
            for line in trace.summary() if trace else ():
                log.info("%s", line)
    if processes.is_first:
        print_results(trainer)
        for line in profile.lines() if profile else ():
            click.echo(line)
    return 0


def _ended_by_exit(error: SystemExit) -> TrainingError:
    failure = TrainingError(
        f"training was ended by sys.exit({error.code!r}); an exception, or a reason given in "
        "should_stop, would say why"
    )
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure
