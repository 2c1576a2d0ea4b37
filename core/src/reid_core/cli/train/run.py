"""``reid-train``: the run itself."""

from __future__ import annotations

import logging
import shlex

from reid_core.cli.train.printed import print_results
from reid_core.cli.train.request import TrainRequest
from reid_core.errors import TrainingError
from reid_core.logs import logging_to

log = logging.getLogger("reid_core")


def train(request: TrainRequest) -> int:
    """Train, or go on with a run; return the exit code."""
    config, resume = request.config, request.resume
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.outcome import Interrupted
    from reid_core.engine.provenance import require_components_of_run
    from reid_core.engine.resume import folder_to_resume
    from reid_core.engine.signals import graceful_signals

    folder = folder_to_resume(config, resume)
    if resume is None:
        folder.require_unused()
    with logging_to(verbose=request.verbose) as log_file:
        require_components_of_run(config, resume, folder)
        trainer = DefaultTrainer(config, folder)
        trainer.resume_or_load(resume)
        # Only now: a config that cannot work leaves no folder behind.
        trainer.claim_folder()
        log_file.open(folder.path / "train.log")
        trace = trainer.hooks.trace() if request.trace_hooks else None
        try:
            with graceful_signals(trainer):
                trainer.train()
        except SystemExit as error:
            # Its own code would tell a scheduler that all went well.
            raise _ended_by_exit(error) from error
        except Interrupted as error:
            error.add_note(f"go on with: reid-train --resume {shlex.quote(str(folder.path))}")
            raise
        finally:
            for line in trace.summary() if trace else ():
                log.info("%s", line)
    print_results(trainer)
    return 0


def _ended_by_exit(error: SystemExit) -> TrainingError:
    failure = TrainingError(
        f"training was ended by sys.exit({error.code!r}); an exception, or a reason given in "
        "should_stop, would say why"
    )
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure
