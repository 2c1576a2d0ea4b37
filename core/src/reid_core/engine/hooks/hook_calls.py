"""A typed method for each hook; pluggy's own calls take any keyword."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pluggy

if TYPE_CHECKING:
    from reid_core.contracts import Batch
    from reid_core.engine.step_result import StepResult
    from reid_core.engine.trainer_base import TrainerBase


class HookCalls:
    """Calls the hooks of a manager, which a subclass makes and fills."""

    _manager: pluggy.PluginManager

    def before_train(self, trainer: TrainerBase) -> None:
        """Call ``before_train``."""
        self._manager.hook.before_train(trainer=trainer)

    def before_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Call ``before_epoch``."""
        self._manager.hook.before_epoch(trainer=trainer, epoch=epoch)

    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Call ``before_step``."""
        self._manager.hook.before_step(trainer=trainer, step=step, batch=batch)

    def run_step(self, trainer: TrainerBase, step: int, batch: Batch) -> StepResult:
        """Call ``run_step``; the first hook that returns something has done the step."""
        result = self._manager.hook.run_step(trainer=trainer, step=step, batch=batch)
        return cast("StepResult", result)

    def after_backward(self, trainer: TrainerBase, step: int) -> None:
        """Call ``after_backward``."""
        self._manager.hook.after_backward(trainer=trainer, step=step)

    def after_step(self, trainer: TrainerBase, step: int, result: StepResult) -> None:
        """Call ``after_step``."""
        self._manager.hook.after_step(trainer=trainer, step=step, result=result)

    def after_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Call ``after_epoch``."""
        self._manager.hook.after_epoch(trainer=trainer, epoch=epoch)

    def before_eval(self, trainer: TrainerBase, name: str) -> None:
        """Call ``before_eval``."""
        self._manager.hook.before_eval(trainer=trainer, name=name)

    def after_eval(self, trainer: TrainerBase, name: str, metrics: Mapping[str, float]) -> None:
        """Call ``after_eval``."""
        self._manager.hook.after_eval(trainer=trainer, name=name, metrics=metrics)

    def on_log(self, trainer: TrainerBase, step: int, scalars: Mapping[str, float]) -> None:
        """Call ``on_log``."""
        self._manager.hook.on_log(trainer=trainer, step=step, scalars=scalars)

    def after_checkpoint(self, trainer: TrainerBase, path: Path, step: int) -> None:
        """Call ``after_checkpoint``."""
        self._manager.hook.after_checkpoint(trainer=trainer, path=path, step=step)

    def should_stop(self, trainer: TrainerBase, step: int) -> str | None:
        """Call ``should_stop``; the first reason given wins."""
        return cast("str | None", self._manager.hook.should_stop(trainer=trainer, step=step))
