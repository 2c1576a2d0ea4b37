"""Saves what a resumed run needs, and the weights for use elsewhere."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from torch import Tensor

from reid_core.checkpoint.atomic import remove_leftovers
from reid_core.checkpoint.cadence import Cadence
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.checkpoint.saving import Saved, Saving
from reid_core.checkpoint.snapshot import snapshot
from reid_core.checkpoint.writer import BackgroundWriter
from reid_core.data.labels import identities_digest
from reid_core.engine.evaluation.run import evaluation_names
from reid_core.engine.faults.divergence import advice
from reid_core.engine.faults.finite_tensors import told
from reid_core.errors import CheckpointError, ConfigError, Interrupted, TrainingError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer, Outcome, StepResult

log = logging.getLogger("reid_core")


class Checkpoint:
    """Saves at the end of epochs, at the end of training, and when a run is stopped midway.

    It comes before the evaluation, so that a crash in there loses nothing; after the evaluation the
    checkpoint is written again with the new metrics and, when they are the best so far, as
    ``best.pt``. With several of ``every``, ``every_steps`` and ``every_minutes`` it saves when one
    of them asks for it.

    Training waits while the state is copied to the memory of the host, and goes on while a thread
    writes the copy. A checkpoint that cannot be written is tried again the next time, as long as
    there is an earlier one; at the end of the run it is an error.

    A state that is not finite is never saved. Where ``train.on_nan`` can still mend it training
    goes on, else the run fails. While all steps since the newest checkpoint were skipped none is
    made, so that a good one is not dropped for weights that are the same; the end of the run is
    saved.

    When training itself fails nothing is saved: the state may be what failed. When another hook
    fails the state is saved as ``emergency.pt``. It is whole, but hooks that were still to come
    have not seen the step, so a run that goes on from it is not exactly the one that never failed:
    a resume takes it only when it is named.

    Args:
        every: Epochs between two checkpoints, at least 1; None: the end of an epoch is no reason.
        every_steps: Steps between two, at least 1; None: their number is no reason.
        every_minutes: Minutes between two, above 0, whatever happens to the clock on the wall;
            None: time is no reason.
        keep: Newest checkpoints kept, at least 1.

    Raises:
        ConfigError: A number is too small.
    """

    def __init__(
        self,
        *,
        every: int | None = 1,
        every_steps: int | None = None,
        every_minutes: float | None = None,
        keep: int = 2,
    ) -> None:
        self._cadence = Cadence(epochs=every, steps=every_steps, minutes=every_minutes)
        if keep < 1:
            raise ConfigError(f"hook checkpoint: keep is {keep}; expected at least 1")
        self._keep = keep
        self._clock: Callable[[], float] = time.monotonic
        self._saved_step = -1
        self._saved_at = 0.0
        self._is_ending = False
        self._is_changed = True
        self._writer: BackgroundWriter[Saved] = BackgroundWriter()

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Remember what is on disk already; later steps, which are done again, are set aside."""
        self._is_ending = False
        self._saved_at = self._clock()
        is_saved = False
        if trainer.processes.is_first:
            _tidy(trainer)
            folder = self._folder(trainer)
            for path in folder.set_aside_after(trainer.start_iter):
                log.warning("checkpoint of a later step set aside: %s", path)
            is_saved = folder.path_of(trainer.iter) in folder.paths()
        self._saved_step = trainer.iter if trainer.processes.from_first(is_saved) else -1
        self._is_changed = self._saved_step == -1

    @hookimpl(trylast=True)
    def after_step(self, trainer: DefaultTrainer, result: StepResult) -> None:
        """Save in the middle of an epoch; at its end that is left to what follows it."""
        self._is_changed |= not result.is_skipped
        self._collect(trainer)
        is_last = trainer.steps_done % len(trainer.data_loader) == 0
        if not is_last and trainer.steps_done < trainer.max_iter and self._is_due(trainer):
            self._save(trainer)

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer, epoch: int) -> None:
        """Save when it is time."""
        is_last = trainer.iter >= trainer.max_iter
        # Asked in any case: all processes have to, or none.
        is_due = self._is_due(trainer) or (
            self._cadence.is_epoch_due(epoch + 1) and self._has_changed(trainer)
        )
        if is_due or is_last:
            self._save(trainer)

    @hookimpl(trylast=True)
    def after_eval(self, trainer: DefaultTrainer, name: str) -> None:
        """Save the metrics with the state, and the best weights, after the last test set.

        Not before: a run that is resumed from between two sets would miss the second.
        """
        if name != evaluation_names(trainer)[-1]:
            return
        best = trainer.results.best
        is_best = best is not None and best.step == trainer.iter
        is_saved = self._is_saved(trainer)
        if is_best or is_saved:
            self._save(trainer, is_best=is_best, is_regular=is_saved)
        if self._is_ending:
            self.wait(trainer, is_required=True)

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
        # Shares of a model take all processes to put together; this one may be alone in failing.
        is_shared = trainer.processes.count > 1 and (
            trainer.config.train.distributed.strategy == "fsdp"
        )
        if is_own or is_shared or not trainer.processes.is_first:
            return
        self.wait(trainer)
        if trainer.steps_done in (0, self._saved_step) or (
            _bad_tensors(trainer, {"model": trainer.model.state_dict()})
        ):
            return
        path = self._folder(trainer).save_emergency(trainer.state_dict(leave_out_broken=True))
        exception.add_note(
            f"the state after step {trainer.steps_done} is saved; once the hook is mended, or left "
            f"out (--set hooks=[…]), go on with: reid-train --resume {shlex.quote(str(path))}"
        )

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Save where a stopped or interrupted run stands, and wait until it is on the disk."""
        self._is_ending = True
        self.wait(trainer)
        # A Ctrl-C in the middle of a step leaves a half-updated state; between steps it is whole.
        is_cut = isinstance(outcome.exception, KeyboardInterrupt)
        if outcome.status == "failed" or is_cut or self._is_saved(trainer):
            return
        self._save(trainer)
        self.wait(trainer, is_required=True)

    def wait(self, trainer: DefaultTrainer, *, is_required: bool = False) -> None:
        """Wait until what is being saved is on the disk, and tell the hooks.

        Args:
            trainer: The trainer.
            is_required: Whether it is an error that it could not be written, also where there is
                an earlier checkpoint.

        Raises:
            CheckpointError: It could not be written.
        """
        self._collect(trainer, wait=True, is_required=is_required)

    def _is_due(self, trainer: DefaultTrainer) -> bool:
        """Say whether steps or time ask for it, the same in every process."""
        is_time = self._cadence.is_time_due(self._clock() - self._saved_at)
        if self._cadence.minutes is not None:
            is_time = trainer.processes.from_first(is_time)
        is_due = is_time or self._cadence.is_step_due(trainer.steps_done)
        return is_due and self._has_changed(trainer)

    def _has_changed(self, trainer: DefaultTrainer) -> bool:
        # Only the first process knows of a checkpoint that could not be written.
        return trainer.processes.from_first(self._is_changed)

    def _is_saved(self, trainer: DefaultTrainer) -> bool:
        return trainer.processes.from_first(self._saved_step == trainer.iter)

    def _save(
        self, trainer: DefaultTrainer, *, is_regular: bool = True, is_best: bool = False
    ) -> None:
        state = trainer.state_dict()
        if not self._is_finite(trainer, state):
            return
        step = trainer.steps_done
        if is_regular:
            self._saved_step, self._saved_at = step, self._clock()
            self._is_changed = False
        if not trainer.processes.is_first:
            return
        # Before the copy: there is never more than one beside the state itself.
        self._collect(trainer, wait=True)
        saving = Saving(
            folder=self._folder(trainer),
            weights=trainer.folder.path / "weights",
            rows=trainer.folder.path / "metrics.jsonl",
            step=step,
            state=snapshot(state),
            info=_info(trainer),
            is_regular=is_regular,
            is_best=is_best,
        )
        self._writer.submit(saving.write)

    def _is_finite(self, trainer: DefaultTrainer, state: Mapping[str, object]) -> bool:
        """Say whether a state may be saved, the same in every process.

        Raises:
            TrainingError: It may not, and nothing to come can mend it.
        """
        bad = trainer.processes.from_first(_bad_tensors(trainer, state))
        if not bad:
            return True
        found = f"weights are not finite after step {trainer.steps_done}: {told(bad)}"
        is_over = self._is_ending or trainer.steps_done >= trainer.max_iter
        if is_over or trainer.config.train.on_nan == "stop":
            raise TrainingError(f"{found}. {advice(trainer)}")
        log.error("%s; no checkpoint is made of them", found)
        return False

    def _collect(
        self, trainer: DefaultTrainer, *, wait: bool = False, is_required: bool = False
    ) -> None:
        saved = self._writer.collect(wait=wait)
        if saved is None:
            return
        if saved.error is not None:
            self._forgive(trainer, saved.error, is_required=is_required)
        elif saved.path is not None:
            trainer.hooks.after_checkpoint(trainer=trainer, path=saved.path, step=saved.step)

    def _forgive(
        self, trainer: DefaultTrainer, error: CheckpointError, *, is_required: bool
    ) -> None:
        """Go on without a checkpoint, where there is an earlier one to fall back on.

        Raises:
            CheckpointError: There is none, or the run ends here.
        """
        self._saved_step, self._is_changed = -1, True
        earlier = self._folder(trainer).paths()
        if earlier and is_required:
            error.add_note(f"make room, then go on with: {trainer.folder.resume_command}")
        if is_required or not earlier:
            raise error
        log.error("%s; training goes on and tries again; until then there is %s", error, earlier[0])

    def _folder(self, trainer: DefaultTrainer) -> CheckpointFolder:
        return CheckpointFolder(trainer.folder.path / "checkpoints", keep=self._keep)


def _tidy(trainer: DefaultTrainer) -> None:
    """Remove what a part of the run that was killed has left half written."""
    root = trainer.folder.path
    for folder in (root, root / "checkpoints", root / "weights"):
        for path in remove_leftovers(folder):
            log.info("removed %s, which was never finished", path)


def _bad_tensors(trainer: DefaultTrainer, state: Mapping[str, object]) -> list[str]:
    """Return the names of the weights and buffers of a state that are not finite."""
    states = [
        cast("Mapping[str, Tensor] | None", state.get(name)) for name in ("model", "eval_model")
    ]
    return trainer.finite.bad_tensors(*states)


def _info(trainer: DefaultTrainer) -> dict[str, object]:
    """Return the description for a weights file."""
    return {
        "config": trainer.config.plain(),
        "step": trainer.steps_done,
        "epoch": trainer.steps_done / len(trainer.data_loader),
        "metrics": trainer.results.latest(),
        "camera_map": trainer.camera_map.to_plain(),
        "num_views": trainer.num_views,
        "identities": identities_digest(trainer.label_map.to_plain()),
    }
