"""What happens when a loss, a gradient or a buffer is not finite."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, TrainOutput
from reid_core.engine.faults.finite_tensors import told
from reid_core.engine.faults.nan_batch import save_nan_batch
from reid_core.engine.faults.rollback import roll_back, wait_for_checkpoints
from reid_core.engine.step.buffer_snapshot import BufferSnapshot
from reid_core.engine.step.device_flag import DeviceFlag
from reid_core.errors import CheckpointError, TrainingError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.step_trainer import StepTrainer

log = logging.getLogger("reid_core")

#: Steps in a row that ``on_nan: skip`` passes over.
MAX_SKIPS = 10
#: Times that ``on_nan: rollback`` goes back in a run.
MAX_ROLLBACKS = 3


@dataclass(frozen=True)
class _Step:
    """A step whose numbers may not be finite."""

    number: int
    batch: Batch
    losses: Mapping[str, Tensor]
    lr: float
    #: () bool on the device; None where no buffer was looked at.
    are_buffers_finite: Tensor | None = None

    def shown(self) -> str:
        losses = {name: float(value) for name, value in self.losses.items()}
        told = {"loss": sum(losses.values())} | (losses if len(losses) > 1 else {})
        return ", ".join(
            f"{name if name == 'loss' else f'loss/{name}'} {v:g}" for name, v in told.items()
        )

    def what(self, trainer: StepTrainer) -> str:
        if not all(bool(value.isfinite()) for value in self.losses.values()):
            return "the loss"
        if self.are_buffers_finite is not None and not bool(self.are_buffers_finite):
            # A step later they are no better.
            return f"buffer {told(trainer.finite.bad_buffers(trainer.model))}"
        return "a gradient"


class DivergenceWatch:
    """Looks at losses, the norm of all gradients, and buffers of each step, before the update.

    Buffers, because statistics of a batch can overflow where loss and gradients do not, and a
    running mean never recovers.

    What is done about a step that is not finite is ``mode``:

    - ``stop``: the run fails.
    - ``skip``: weights, optimizer, buffers, schedule and averages stay as they are, for at most
      :data:`MAX_SKIPS` steps in a row; then the run fails.
    - ``rollback``: weights, optimizer and hooks go back to the newest checkpoint, the data does
      not, at most :data:`MAX_ROLLBACKS` times a run; then the run fails.

    In each mode the batch is saved. In float16 with a scaled loss numbers that are not finite are
    the scaler's business, until it gives up.

    Args:
        mode: What is done.
        is_deferred: Whether ``stop`` looks at a step while the next one is computed, so that the
            device never waits. The weights have then been updated; no checkpoint is made of them.
        log_every: Steps between two rows of the log; a deferred look is due before each.
    """

    def __init__(
        self,
        mode: Literal["stop", "skip", "rollback"],
        *,
        is_deferred: bool = False,
        log_every: int = 1,
    ) -> None:
        self._mode = mode
        self._is_deferred = is_deferred and mode == "stop"
        self._log_every = log_every
        self._waiting: tuple[_Step, DeviceFlag, weakref.ref[StepTrainer]] | None = None
        self._scaled: _Step | None = None
        self._buffers: BufferSnapshot | None = None
        self._in_a_row = 0
        self._rollbacks = 0

    def before_gradients(self, model: nn.Module, *, is_scaled: bool = False) -> None:
        """Remember what a forward pass changes, if a step may have to be undone.

        Args:
            model: The model.
            is_scaled: Whether a scaler may skip the step.
        """
        may_undo = is_scaled or self._mode == "skip"
        self._buffers = BufferSnapshot(model) if may_undo else None

    def scaler_skipped(self) -> None:
        """Take back what the forward pass of a step changed whose update the scaler has skipped.

        Statistics that a number beyond float16 came into would never be finite again.
        """
        if self._buffers is not None:
            self._buffers.restore()

    def may_update(self, trainer: StepTrainer, batch: Batch, output: TrainOutput) -> bool:
        """Say whether a step may update the weights.

        Args:
            trainer: Its gradients are there.
            batch: What they were computed from.
            output: The losses.

        Raises:
            TrainingError: A number is not finite, and the run cannot go on.
        """
        losses = {name: value.detach() for name, value in output.losses.items()}
        if trainer.scaler is not None:
            self._scaled = _Step(trainer.iter, batch, losses, trainer.current_lr)
            return True
        buffers = trainer.finite.are_buffers_finite(trainer.model)
        step = _Step(trainer.iter, batch, losses, trainer.current_lr, buffers)
        is_good = _is_finite(losses, trainer.optimizer)
        flag = DeviceFlag(is_good if buffers is None else is_good & buffers.to(is_good.device))
        if self._is_deferred:
            self.settle()
            self._waiting = step, flag, weakref.ref(trainer)
            return True
        is_finite = flag.read()
        if self._mode != "stop":
            is_finite = not trainer.processes.any(not is_finite)
        if is_finite:
            self._in_a_row = 0
            return True
        self._answer(trainer, step)
        return False

    def scaler_gave_up(self, trainer: StepTrainer, error: TrainingError) -> None:
        """Act on a step that is not finite in float16 at any scale.

        Raises:
            TrainingError: The run cannot go on.
        """
        assert self._scaled is not None
        if self._mode == "rollback":
            self._answer(trainer, self._scaled)
            return
        where = _saved(trainer, self._scaled)
        told = f"step {self._scaled.number} (learning rate {self._scaled.lr:g}): {error}{where}"
        raise TrainingError(told) from error

    def settle(self) -> None:
        """Wait for the step that is not looked at yet.

        Raises:
            TrainingError: It is not finite.
        """
        if self._waiting is None:
            return
        step, flag, reference = self._waiting
        self._waiting = None
        trainer = reference()
        if trainer is not None and not flag.read():
            self._answer(trainer, step)

    @hookimpl(tryfirst=True)
    def after_step(self, step: int) -> None:
        """Settle before a row of the log is written."""
        if (step + 1) % self._log_every == 0:
            self.settle()

    @hookimpl(tryfirst=True)
    def after_epoch(self) -> None:
        """Settle before an evaluation or a checkpoint."""
        self.settle()

    def state_dict(self) -> dict[str, object]:
        """Return how often it has acted.

        Raises:
            TrainingError: The last step is not finite; its weights shall not be saved.
        """
        self.settle()
        return {"in_a_row": self._in_a_row, "rollbacks": self._rollbacks}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Go on counting."""
        self._in_a_row = cast("int", state["in_a_row"])
        self._rollbacks = cast("int", state["rollbacks"])

    def _answer(self, trainer: StepTrainer, step: _Step) -> None:
        where = _saved(trainer, step)
        found = f"{step.what(trainer)} is not finite at step {step.number} ({step.shown()}; "
        found += f"learning rate {step.lr:g}){where}"
        if self._mode == "skip" and self._in_a_row < MAX_SKIPS:
            self._in_a_row += 1
            assert self._buffers is not None
            self._buffers.restore()
            log.warning("%s; the step is skipped", found)
        elif self._mode == "rollback" and self._rollbacks < MAX_ROLLBACKS:
            self._rollbacks += 1
            path = roll_back(trainer, because=found)
            log.warning(
                "%s; weights, optimizer and hooks are back at %s, and training goes on with the "
                "next batch (%d of %d times)",
                found,
                path,
                self._rollbacks,
                MAX_ROLLBACKS,
            )
        else:
            raise TrainingError(f"{found}{self._limit()}. {advice(trainer)}")

    def _limit(self) -> str:
        if self._mode == "skip":
            return f"; {MAX_SKIPS} steps in a row have been skipped already"
        if self._mode == "rollback":
            return f"; the run has gone back {MAX_ROLLBACKS} times already"
        return ""


def advice(trainer: StepTrainer, *, without: Path | None = None) -> str:
    """Say which checkpoint is good, and what may help.

    Args:
        trainer: Whose run has diverged.
        without: A checkpoint that is not good.
    """
    with suppress(CheckpointError):
        # The newest one may still be on its way to the disk.
        wait_for_checkpoints(trainer)
    paths = [path for path in trainer.folder.checkpoints.paths() if path != without]
    last = f"the last good checkpoint is {paths[0]}" if paths else "there is no checkpoint yet"
    train = trainer.config.train
    tries = ["a lower train.optimizer.lr", "a longer warm-up"]
    if train.clip_gradients is None:
        tries.append("train.clip_gradients")
    if train.precision != "fp32":
        tries.append(f"train.precision={'bf16 or fp32' if train.precision == 'fp16' else 'fp32'}")
    if train.on_nan == "stop":
        tries.append("train.on_nan=skip for a batch that is bad by itself")
    return f"{last[0].upper()}{last[1:]}. Try {', '.join(tries[:-1])}, or {tries[-1]}"


def _saved(trainer: StepTrainer, step: _Step) -> str:
    """Save the batch of a step; say where, or why it could not be."""
    try:
        path = save_nan_batch(trainer, step.batch, step=step.number, losses=step.losses, lr=step.lr)
    except OSError as error:
        return f"; its batch could not be saved: {error}"
    return "" if path is None else f"; its batch is in {path}"


def _is_finite(losses: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> Tensor:
    """Return (), bool on the device: whether all losses and the norm of all gradients are."""
    gradients = [
        parameter.grad
        for group in optimizer.param_groups
        for parameter in group["params"]
        if parameter.grad is not None
    ]
    values = [value.float() for value in losses.values()]
    if gradients:
        norm = nn.utils.get_total_norm(gradients)
        # A gradient in shares, one a process, knows its norm in parts.
        whole = getattr(norm, "full_tensor", None)
        values.append((whole() if callable(whole) else norm).float().to(values[0].device))
    return torch.stack(values).isfinite().all()
