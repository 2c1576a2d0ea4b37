"""``status.json`` of a run that another process ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.distributed.failure import LAUNCHER, Failure, OtherProcessError

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer


def failure_facts(error: BaseException | None) -> dict[str, object]:
    """Return what ``status.json`` says beyond the reason when another process has failed."""
    return _facts(error.failure) if isinstance(error, OtherProcessError) else {}


def write_failure(trainer: DefaultTrainer, failure: Failure) -> None:
    """Write that the run has failed, where the hooks cannot.

    The first process does; where that one is gone, the second.

    Args:
        trainer: The trainer of this process.
        failure: What ended the run.
    """
    is_first_gone = failure.rank == 0 and not failure.kind
    if trainer.processes.rank == int(is_first_gone):
        trainer.folder.write_status(
            "failed",
            step=trainer.iter,
            max_step=trainer.max_iter,
            reason=failure.sentence,
            **_facts(failure),
        )


def _facts(failure: Failure) -> dict[str, object]:
    process = {} if failure.rank == LAUNCHER else {"process": failure.rank}
    return {**process, "exit_code": failure.exit_code}
