"""The learning rate of each step: warm-up, then the schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from reid_core.config.components import OptimizerConfig, ScheduleConfig, WarmupConfig
from reid_core.errors import ConfigError
from reid_core.optim.schedules import Schedule
from reid_core.optim.warmup import Warmup
from reid_core.plugins.registries import SCHEDULES


@dataclass(frozen=True)
class LearningRate:
    """The factor on every group's base learning rate, step by step.

    Args:
        schedule: The factor after warm-up, by epoch.
        iters_per_epoch: Steps an epoch.
        warmup: The factor before.
        by_epoch: Whether the schedule is asked for whole epochs only.
        first_epoch: Number of the first epoch, 0 or 1; for ``by_epoch``.
        offset_epochs: Epochs gone by before the schedule begins to count.
    """

    schedule: Schedule
    iters_per_epoch: int
    warmup: Warmup = field(default_factory=Warmup)
    by_epoch: bool = False
    first_epoch: int = 0
    offset_epochs: int = 0

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

        Args:
            config: Schedule and warm-up.
            optimizer: For the base learning rate.
            epochs: Length of the run, at least 1.
            iters_per_epoch: Steps an epoch, at least 1.

        Raises:
            ConfigError: The warm-up or the delay is longer than the run, or a parameter does not
                fit.
        """
        steps = warmup_steps(config.warmup, iters_per_epoch)
        _require_shorter(steps, epochs, iters_per_epoch)
        if config.counting == "fastreid":
            _require_something_left(config, steps, epochs, iters_per_epoch)
        schedule = SCHEDULES.build(
            config.as_call(),
            **schedule_context(config, optimizer, epochs=epochs, iters_per_epoch=iters_per_epoch),
        )
        if not callable(getattr(schedule, "factor", None)):
            raise ConfigError(f"schedule {config.name} has no method factor(epoch)")
        is_delayed = config.counting == "fastreid"
        return cls(
            schedule,  # type: ignore[arg-type]
            iters_per_epoch,
            _warmup(config, steps),
            by_epoch=config.granularity == "epoch",
            first_epoch=config.first_epoch,
            offset_epochs=_fastreid_offset(config, steps, iters_per_epoch) if is_delayed else 0,
        )

    def factor(self, step: int, *, skipped_steps: int = 0) -> float:
        """Return the factor of a step.

        Args:
            step: Its number, from 0.
            skipped_steps: Steps before it whose update was skipped, in mixed precision. What moves
                by steps waits for them; what moves by epochs does not.
        """
        updates = step - skipped_steps
        epoch = step // self.iters_per_epoch + self.first_epoch
        warm = self.warmup.factor(epoch if self.warmup.by_epoch else updates)
        if warm is not None:
            return warm
        if self.by_epoch:
            return self.schedule.factor(float(max(epoch - self.offset_epochs, 0)))
        return self.schedule.factor(updates / self.iters_per_epoch)


def warmup_steps(config: WarmupConfig | None, iters_per_epoch: int) -> int:
    """Return the length of a warm-up in steps."""
    if config is None:
        return 0
    if config.steps is not None:
        return config.steps
    return round((config.epochs or 0) * iters_per_epoch)


def schedule_context(
    config: ScheduleConfig, optimizer: OptimizerConfig, *, epochs: int, iters_per_epoch: int
) -> dict[str, object]:
    """Return what the schedule of a configuration is built with, where its signature names it.

    Args:
        config: Schedule and warm-up.
        optimizer: For the base learning rate.
        epochs: Length of the run.
        iters_per_epoch: Steps an epoch.
    """
    steps = warmup_steps(config.warmup, iters_per_epoch)
    total = float(epochs)
    if config.counting == "fastreid":
        total -= max(math.ceil(steps / iters_per_epoch), config.delay_epochs)
    begins_after_warmup = config.counting == "from_start"
    return {
        "total_epochs": max(total, 1.0),
        "warmup_epochs": steps / iters_per_epoch if begins_after_warmup else 0.0,
        "tick_epochs": 1.0 if config.granularity == "epoch" else 1 / iters_per_epoch,
        "base_lr": optimizer.lr,
    }


def _warmup(config: ScheduleConfig, steps: int) -> Warmup:
    if config.warmup is None:
        return Warmup()
    # FastReID warms up step by step, whatever the rest goes by.
    by_epoch = (
        config.granularity == "epoch"
        and config.warmup.epochs is not None
        and config.counting != "fastreid"
    )
    length = (config.warmup.epochs or 0.0) if by_epoch else steps
    return Warmup(length, by_epoch, config.warmup.factor, config.warmup.method)


def _fastreid_offset(config: ScheduleConfig, steps: int, iters_per_epoch: int) -> int:
    """Return the epochs that FastReID's schedule misses before it counts its first one.

    It counts at the end of epoch e, from 0, where (e + 1) * iters_per_epoch reaches the warm-up
    and e + 1 is more than the delay.
    """
    return max(math.ceil(steps / iters_per_epoch) - 1, config.delay_epochs, 0)


def _require_shorter(steps: int, epochs: int, iters_per_epoch: int) -> None:
    if steps > epochs * iters_per_epoch:
        raise ConfigError(
            f"train.schedule.warmup lasts {steps} steps, the whole run only "
            f"{epochs * iters_per_epoch} ({epochs} epochs of {iters_per_epoch}); shorten it or "
            "leave it out: --set train.schedule.warmup=null"
        )


def _require_something_left(
    config: ScheduleConfig, steps: int, epochs: int, iters_per_epoch: int
) -> None:
    before = max(math.ceil(steps / iters_per_epoch), config.delay_epochs)
    if before >= epochs:
        raise ConfigError(
            f"train.schedule: warm-up and delay_epochs take {before} of {epochs} epochs, so "
            f"nothing is left for schedule {config.name}; shorten them, or train longer"
        )
