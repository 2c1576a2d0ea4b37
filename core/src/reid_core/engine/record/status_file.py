"""``status.json``: how the run ended, for scripts and for other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.engine.record.failed_status import failure_facts
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.outcome import Outcome


class StatusFile:
    """Writes the outcome before the other hooks wind up: the report shows it.

    It is a hook so that a full disk here is told like any other trouble at the end, and never
    instead of what ended the run.
    """

    first_process_only = True

    @hookimpl(tryfirst=True)
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Write the outcome."""
        trainer.folder.write_status(
            outcome.status,
            step=trainer.iter,
            max_step=trainer.max_iter,
            reason=outcome.reason,
            **failure_facts(outcome.exception),
        )
