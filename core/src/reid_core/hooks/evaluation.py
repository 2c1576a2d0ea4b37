"""Evaluates on the test sets during and after training."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer, Outcome


class Evaluation:
    """Evaluates every ``evaluate.every`` epochs and after the last one, if evaluation is on.

    Several processes share the images, and each has the figures; the first one writes them. An
    evaluation that was due when a run was stopped is made up for when it is resumed.
    """

    def __init__(self) -> None:
        self._evaluated_step = -1

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Evaluate the untrained model if asked for, or what was missed before a resume."""
        if trainer.iter == 0:
            is_wanted = trainer.config.evaluate.at_start
        else:
            is_wanted = trainer.iter != self._evaluated_step and self._was_due(trainer)
        if is_wanted:
            self._evaluate(trainer)

    @hookimpl
    def before_epoch(self, trainer: DefaultTrainer) -> None:
        """Give up the embeddings of an evaluation that was not the last one."""
        trainer.retrievals = []
        trainer.combined = None

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer, epoch: int) -> None:
        """Evaluate when it is time."""
        if self._is_due(trainer, epoch):
            self._evaluate(trainer)

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Evaluate where training was stopped early, and write results and details."""
        try:
            if outcome.status == "stopped" and self._evaluated_step != trainer.iter:
                self._evaluate(trainer)
            if outcome.status in ("completed", "stopped"):
                self._describe(trainer)
        finally:
            if trainer.is_first:
                trainer.results.write(trainer.folder.path / "results.json", outcome=outcome.status)

    def state_dict(self) -> dict[str, object]:
        """Return the step of the last evaluation."""
        return {"evaluated_step": self._evaluated_step}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the step of the last evaluation back."""
        self._evaluated_step = int(str(state["evaluated_step"]))

    def _was_due(self, trainer: DefaultTrainer) -> bool:
        epochs, inside = divmod(trainer.iter, len(trainer.data_loader))
        return inside == 0 and self._is_due(trainer, epochs - 1)

    def _is_due(self, trainer: DefaultTrainer, epoch: int) -> bool:
        every = trainer.config.evaluate.every
        if every == 0:
            return False
        return (epoch + 1) % every == 0 or epoch + 1 >= trainer.config.train.epochs

    def _evaluate(self, trainer: DefaultTrainer) -> None:
        if not trainer.evaluators:
            return
        # Before test(): the checkpoint that after_eval writes shall say that this one is done.
        before, self._evaluated_step = self._evaluated_step, trainer.iter
        evaluations, best = list(trainer.results.evaluations), trainer.results.best
        try:
            trainer.test()
        except BaseException:
            # All sets are done again by a run that is resumed from here: none may count twice.
            self._evaluated_step = before
            trainer.results.evaluations, trainer.results.best = evaluations, best
            raise
        if trainer.is_first:
            self._write(trainer)

    def _write(self, trainer: DefaultTrainer) -> None:
        trainer.results.write(trainer.folder.path / "results.json", outcome="running")
        ranks = json.dumps({"schema": 1, "rankings": trainer.rankings}, ensure_ascii=False)
        write_text_atomically(trainer.folder.path / "ranks.json", ranks)

    def _describe(self, trainer: DefaultTrainer) -> None:
        # Imported here: a run that does not evaluate has no use for it.
        from reid_core.engine.evaluation.run import write_run_details

        if trainer.config.evaluate.details and trainer.retrievals:
            if trainer.is_first:
                write_run_details(trainer)
            trainer.retrievals = []
            trainer.combined = None
