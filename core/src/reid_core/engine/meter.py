"""The numbers of the steps between two rows of the log, read from the device in one go."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from reid_core.contracts import Batch
from reid_core.engine.outcome import Outcome
from reid_core.engine.step_result import StepResult
from reid_core.errors import Interrupted, TrainingError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer


class Meter:
    """Collects step results on the device and turns them into floats every few steps.

    Reading a value makes the host wait for the device; done once for many steps it costs nothing
    to speak of. Nothing is averaged away: a loss that is not finite is found with its step.

    Args:
        log_every: Steps between two rows.
    """

    def __init__(self, log_every: int) -> None:
        self._log_every = log_every
        self._pending: list[tuple[int, dict[str, Tensor]]] = []
        self._data_seconds = 0.0
        self._since = time.perf_counter()
        self._lr = float("nan")

    @property
    def pending_since(self) -> int | None:
        """Steps done before the first one that is in no row yet; None where all are in one."""
        return self._pending[0][0] if self._pending else None

    def timed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Pass batches on and measure how long each was waited for."""
        iterator = iter(batches)
        while True:
            started = time.perf_counter()
            batch = next(iterator, None)
            if batch is None:
                return
            self._data_seconds += time.perf_counter() - started
            yield batch

    @hookimpl(tryfirst=True)
    def before_epoch(self) -> None:
        """Start the clock anew: an evaluation or a checkpoint lay before."""
        self._since, self._data_seconds = time.perf_counter(), 0.0

    @hookimpl(tryfirst=True)
    def after_step(self, trainer: DefaultTrainer, step: int, result: StepResult) -> None:
        """Take a step's result; write a row when it is time."""
        # The loss of a skipped step may be anything, and changed nothing.
        self._pending.append((step, {} if result.is_skipped else _scalars(result)))
        self._lr = trainer.current_lr
        if (step + 1) % self._log_every == 0:
            self._flush(trainer)

    @hookimpl(tryfirst=True)
    def after_epoch(self, trainer: DefaultTrainer) -> None:
        """Write the rest of the epoch, before a checkpoint is made of it."""
        if self._pending:
            self._flush(trainer)

    @hookimpl(tryfirst=True)
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Write what led up to an early stop."""
        if self._pending and outcome.status == "stopped":
            self._flush(trainer)

    @hookimpl(tryfirst=True)
    def on_exception(self, trainer: DefaultTrainer, exception: BaseException) -> None:
        """Write what led up to a failure; an interrupted run keeps it for when it is resumed."""
        if self._pending and not isinstance(exception, Interrupted | TrainingError):
            self._flush(trainer)

    def state_dict(self) -> dict[str, object]:
        """Return the steps that are in no row yet, so that a resumed run logs the same rows.

        Raises:
            TrainingError: The loss of one is not finite; its weights shall not be saved.
        """
        steps, rows = self._read()
        return {
            "pending": [
                {"step": step, "scalars": row} for step, row in zip(steps, rows, strict=True)
            ]
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the steps back that are in no row yet."""
        pending = cast("list[dict[str, Any]]", state["pending"])
        self._pending = [
            (int(entry["step"]), {n: torch.tensor(v) for n, v in entry["scalars"].items()})
            for entry in pending
        ]

    def _flush(self, trainer: DefaultTrainer) -> None:
        steps, rows = self._read()
        self._pending = []
        now = time.perf_counter()
        # A model may report other numbers in other steps: each mean is over the steps that have it.
        names = dict.fromkeys(name for row in rows for name in row)
        means = {name: statistics.fmean(row[name] for row in rows if name in row) for name in names}
        times = {
            "time/step": (now - self._since) / len(steps),
            "time/data": self._data_seconds / len(steps),
        }
        self._since, self._data_seconds = now, 0.0
        may_skip = trainer.scaler is not None or trainer.config.train.on_nan != "stop"
        skipped = {"skipped_steps": trainer.skipped_steps} if may_skip else {}
        trainer.log_scalars(steps[-1] + 1, {**means, "lr": self._lr, **skipped, **times})

    def _read(self) -> tuple[list[int], list[dict[str, float]]]:
        """Bring the pending numbers to the host, all in one transfer, and check the losses."""
        if not self._pending:
            return [], []
        values = [value for _, row in self._pending for value in row.values()]
        # Steps from a checkpoint are on the host, the others on the device.
        columns = [value.float().to(values[-1].device) for value in values]
        numbers = iter(torch.stack(columns).tolist() if columns else [])
        steps = [step for step, _ in self._pending]
        rows = [{name: next(numbers) for name in row} for _, row in self._pending]
        for step, row in zip(steps, rows, strict=True):
            _require_finite(step, row, self._lr)
        return steps, rows


def _scalars(result: StepResult) -> dict[str, Tensor]:
    losses = {f"loss/{name}": value for name, value in result.losses.items()}
    return {"loss": result.loss, **(losses if len(losses) > 1 else {}), **result.metrics}


def _require_finite(step: int, row: dict[str, float], lr: float) -> None:
    losses = {n: v for n, v in row.items() if n == "loss" or n.startswith("loss/")}
    if all(math.isfinite(value) for value in losses.values()):
        return
    shown = ", ".join(f"{name} {value:g}" for name, value in losses.items())
    raise TrainingError(
        f"the loss is not finite at step {step} ({shown}; learning rate {lr:g}); the checkpoints "
        "before it are untouched. Try a lower train.optimizer.lr, a longer warm-up, or "
        "train.precision=fp32"
    )
