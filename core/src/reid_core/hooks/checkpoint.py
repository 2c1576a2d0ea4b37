"""Saves what a resumed run needs, and the weights for use elsewhere."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.artifact import write_weights
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer, Outcome

log = logging.getLogger("reid_core")


class Checkpoint:
    """Saves at the end of epochs, at the end of training, and when a run is stopped midway.

    It comes before the evaluation, so that a crash in there loses nothing; after the evaluation the
    checkpoint is written again with the new metrics and, when they are the best so far, as
    ``best.pt``. After a failure nothing is saved: the state may be what failed.

    Args:
        every: Epochs between two checkpoints, at least 1.
        keep: Newest checkpoints kept, at least 1.

    Raises:
        ConfigError: A number is below 1.
    """

    def __init__(self, *, every: int = 1, keep: int = 2) -> None:
        if every < 1 or keep < 1:
            raise ConfigError(
                f"hook checkpoint: every is {every}, keep is {keep}; expected at least 1 of each"
            )
        self._every = every
        self._keep = keep
        self._saved_step = -1

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Remember what is on disk already; later steps, which are done again, are set aside."""
        folder = self._folder(trainer)
        for path in folder.set_aside_after(trainer.start_iter):
            log.warning("checkpoint of a later step set aside: %s", path)
        is_saved = any(path.name == f"step_{trainer.iter:08d}.pt" for path in folder.paths())
        self._saved_step = trainer.iter if is_saved else -1

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer, epoch: int) -> None:
        """Save when it is time."""
        if (epoch + 1) % self._every == 0 or trainer.iter >= trainer.max_iter:
            self._save(trainer)

    @hookimpl(trylast=True)
    def after_eval(self, trainer: DefaultTrainer, name: str) -> None:
        """Save the metrics with the state, and the best weights, after the last test set.

        Not before: a run that is resumed from between two sets would miss the second.
        """
        if name != trainer.evaluators[-1].name:
            return
        best = trainer.results.best
        if best is not None and best.step == trainer.iter:
            self._folder(trainer).save_best(trainer.state_dict())
            _export(trainer, "best")
        if self._saved_step == trainer.iter:
            self._save(trainer)

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Save where a stopped or interrupted run stands."""
        if outcome.status == "failed" or self._saved_step == trainer.iter:
            return
        # A Ctrl-C in the middle of a step leaves a half-updated state; between steps it is whole.
        if outcome.status == "interrupted" and isinstance(outcome.exception, KeyboardInterrupt):
            return
        self._save(trainer)

    def _save(self, trainer: DefaultTrainer) -> None:
        path = self._folder(trainer).save(trainer.state_dict(), trainer.iter)
        _export(trainer, "last")
        self._saved_step = trainer.iter
        trainer.hooks.after_checkpoint(trainer=trainer, path=path, step=trainer.iter)

    def _folder(self, trainer: DefaultTrainer) -> CheckpointFolder:
        return CheckpointFolder(trainer.folder.path / "checkpoints", keep=self._keep)


def _export(trainer: DefaultTrainer, name: str) -> Path:
    path = trainer.folder.path / "weights" / f"{name}.safetensors"
    info: dict[str, object] = {
        "config": trainer.config.plain(),
        "step": trainer.iter,
        "epoch": trainer.iter / len(trainer.data_loader),
        "metrics": trainer.results.latest(),
    }
    write_weights(path, trainer.eval_model.state_dict(), info)
    return path
