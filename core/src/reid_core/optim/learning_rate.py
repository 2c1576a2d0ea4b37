"""The learning rate of each step: warm-up, then the schedule."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.config.components import OptimizerConfig, ScheduleConfig
from reid_core.errors import ConfigError
from reid_core.optim.schedules import Schedule
from reid_core.plugins.registries import SCHEDULES


@dataclass(frozen=True)
class LearningRate:
    """The factor on every group's base learning rate, step by step.

    Args:
        schedule: The factor after warm-up, by epoch.
        iters_per_epoch: Steps an epoch.
        warmup_steps: Steps of linear warm-up; 0 for none.
        warmup_factor: Factor of the first step.
    """

    schedule: Schedule
    iters_per_epoch: int
    warmup_steps: int = 0
    warmup_factor: float = 1.0

    @classmethod
    def from_config(
        cls,
        config: ScheduleConfig,
        optimizer: OptimizerConfig,
        *,
        epochs: int,
        iters_per_epoch: int,
    ) -> LearningRate:
        """Build it.

        Raises:
            ConfigError: The warm-up is longer than the run, or a parameter does not fit.
        """
        steps, factor = 0, 1.0
        if config.warmup is not None:
            factor = config.warmup.factor
            steps = (
                config.warmup.steps
                if config.warmup.steps is not None
                else round((config.warmup.epochs or 0) * iters_per_epoch)
            )
        if steps > epochs * iters_per_epoch:
            raise ConfigError(
                f"train.schedule.warmup lasts {steps} steps, the whole run only "
                f"{epochs * iters_per_epoch} ({epochs} epochs of {iters_per_epoch}); shorten it or "
                "leave it out: --set train.schedule.warmup=null"
            )
        schedule = SCHEDULES.build(
            config.as_call(),
            total_epochs=float(epochs),
            warmup_epochs=steps / iters_per_epoch,
            base_lr=optimizer.lr,
        )
        if not callable(getattr(schedule, "factor", None)):
            raise ConfigError(f"schedule {config.name} has no method factor(epoch)")
        return cls(schedule, iters_per_epoch, steps, factor)  # type: ignore[arg-type]

    def factor(self, step: int) -> float:
        """Return the factor of a step, from 0."""
        if step < self.warmup_steps:
            return self.warmup_factor + (1 - self.warmup_factor) * step / self.warmup_steps
        return self.schedule.factor(step / self.iters_per_epoch)
