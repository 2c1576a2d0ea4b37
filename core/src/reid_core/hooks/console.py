"""How training is going, for the person who waits: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.errors import ConfigError, Interrupted
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from reid_core.engine import DefaultTrainer, Outcome

log = logging.getLogger("reid_core")


class Console:
    """Prints one line an epoch and, on a terminal, a progress bar with the time left.

    Args:
        every: Epochs between two lines, at least 1.

    Raises:
        ConfigError: ``every`` is below 1.
    """

    observer = True

    def __init__(self, *, every: int = 1) -> None:
        if every < 1:
            raise ConfigError(f"hook console: every is {every}; expected at least 1")
        self._every = every
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._done_before = 0
        self._scalars: dict[str, float] = {}

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Say what is about to happen."""
        self._started, self._done_before = time.monotonic(), trainer.start_iter
        log.info(
            "training on %s: steps %d to %d (%d epochs of %d)",
            trainer.device,
            trainer.start_iter,
            trainer.max_iter,
            trainer.max_epoch,
            len(trainer.data_loader),
        )
        if sys.stderr.isatty():
            self._open_bar(trainer)

    @hookimpl
    def after_step(self) -> None:
        """Move the bar."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, scalars: Mapping[str, float]) -> None:
        """Keep the newest numbers for the next line."""
        self._scalars |= scalars
        if self._progress is not None and self._task is not None and "loss" in scalars:
            self._progress.update(self._task, description=f"loss {scalars['loss']:.3f}")

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer, epoch: int) -> None:
        """Print the line of the epoch."""
        if (epoch + 1) % self._every and trainer.iter < trainer.max_iter:
            return
        loss, lr = self._scalars.get("loss", float("nan")), self._scalars.get("lr", 0.0)
        parts = [f"epoch {epoch + 1}/{trainer.max_epoch}", f"loss {loss:.3f}"]
        if "accuracy" in self._scalars:
            parts.append(f"accuracy {self._scalars['accuracy']:.1%}")
        parts += [f"lr {lr:.2e}", f"{_clock(self._left(trainer))} left"]
        log.info("  ".join(parts))

    @hookimpl
    def before_eval(self, name: str) -> None:
        """Say that an evaluation begins."""
        log.debug("evaluating on %s", name)

    @hookimpl
    def after_checkpoint(self, path: Path, step: int) -> None:
        """Note the checkpoint in the log file."""
        log.debug("checkpoint after step %d: %s", step, path)

    @hookimpl
    def on_exception(self, trainer: DefaultTrainer, exception: BaseException) -> None:
        """Say where it happened."""
        is_wanted = isinstance(exception, Interrupted | KeyboardInterrupt)
        level = logging.INFO if is_wanted else logging.ERROR
        log.log(level, "training ended at step %d of %d", trainer.iter, trainer.max_iter)

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Close the bar and say how it ended."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        spent = _clock(time.monotonic() - self._started)
        reason = f": {outcome.reason}" if outcome.reason else ""
        log.info("training %s after %s%s", outcome.status, spent, reason)

    def _left(self, trainer: DefaultTrainer) -> float:
        done = trainer.iter - self._done_before
        per_step = (time.monotonic() - self._started) / max(done, 1)
        return per_step * (trainer.max_iter - trainer.iter)

    def _open_bar(self, trainer: DefaultTrainer) -> None:
        from rich.console import Console as RichConsole
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=RichConsole(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(
            "training", total=trainer.max_iter, completed=trainer.start_iter
        )
        self._progress.start()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
