"""Saves what a resumed run needs, and the weights for use elsewhere."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from reid_core.checkpoint.artifact import write_weights
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.engine.outcome import Interrupted
from reid_core.errors import ConfigError, TrainingError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer, Outcome

log = logging.getLogger("reid_core")


class Checkpoint:
    """Saves at the end of epochs, at the end of training, and when a run is stopped midway.

    It comes before the evaluation, so that a crash in there loses nothing; after the evaluation the
    checkpoint is written again with the new metrics and, when they are the best so far, as
    ``best.pt``.

    When training itself fails nothing is saved: the state may be what failed. When another hook
    fails the state is saved as ``emergency.pt``. It is whole, but hooks that were still to come
    have not seen the step, so a run that goes on from it is not exactly the one that never failed:
    a resume takes it only when it is named.

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
    def on_exception(self, trainer: DefaultTrainer, exception: BaseException) -> None:
        """Save where a run stands that another hook has ended."""
        if isinstance(exception, Interrupted | KeyboardInterrupt | TrainingError):
            return
        culprit = trainer.hooks.culprit(exception)
        # Inside of a step weights may be half updated, and statistics of the batch are in already.
        if culprit is None or culprit.hook in ("run_step", "after_backward"):
            return
        is_own = dict(trainer.hooks.items())[culprit.id] is self
        if is_own or trainer.steps_done in (0, self._saved_step) or not _is_finite(trainer):
            return
        path = self._folder(trainer).save_emergency(trainer.state_dict(leave_out_broken=True))
        exception.add_note(
            f"the state after step {trainer.steps_done} is saved; once the hook is mended, or left "
            f"out (--set hooks=[…]), go on with: reid-train --resume {shlex.quote(str(path))}"
        )

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


def _is_finite(trainer: DefaultTrainer) -> bool:
    tensors = [t for t in trainer.model.state_dict().values() if t.is_floating_point()]
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)


def _export(trainer: DefaultTrainer, name: str) -> Path:
    path = trainer.folder.path / "weights" / f"{name}.safetensors"
    info: dict[str, object] = {
        "config": trainer.config.plain(),
        "step": trainer.iter,
        "epoch": trainer.iter / len(trainer.data_loader),
        "metrics": trainer.results.latest(),
        "camera_map": trainer.camera_map.to_plain(),
        "num_views": trainer.num_views,
    }
    write_weights(path, trainer.eval_model.state_dict(), info)
    return path
