"""Sets the learning rate of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer


class LrSchedule:
    """Multiplies every group's base rate by the factor of the step.

    The rate is a function of the step, and of the number of steps whose update was skipped, so a
    resumed run continues at the right one.
    """

    @hookimpl
    def before_step(self, trainer: DefaultTrainer, step: int) -> None:
        """Set the rate before the step that uses it."""
        factor = trainer.learning_rate.factor(step, skipped_steps=trainer.skipped_steps)
        for group in trainer.optimizer.param_groups:
            is_scheduled = group.get("is_scheduled", True)
            group["lr"] = group["initial_lr"] * (factor if is_scheduled else 1.0)
