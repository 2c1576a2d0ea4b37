"""When it is time for a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.errors import ConfigError


@dataclass(frozen=True)
class Cadence:
    """When it is time to save; what is None asks for nothing.

    Args:
        epochs: Epochs between two checkpoints.
        steps: Steps between two.
        minutes: Minutes between two.

    Raises:
        ConfigError: A number is too small.
    """

    epochs: int | None
    steps: int | None
    minutes: float | None

    def __post_init__(self) -> None:
        counts = {"every": self.epochs, "every_steps": self.steps}
        for name, count in counts.items():
            if count is not None and count < 1:
                raise ConfigError(f"hook checkpoint: {name} is {count}; expected at least 1")
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigError(
                f"hook checkpoint: every_minutes is {self.minutes}; expected more than 0"
            )

    def is_step_due(self, steps_done: int) -> bool:
        """Say whether to save after so many steps."""
        return self.steps is not None and steps_done % self.steps == 0

    def is_epoch_due(self, epochs_done: int) -> bool:
        """Say whether to save after so many epochs."""
        return self.epochs is not None and epochs_done % self.epochs == 0

    def is_time_due(self, seconds: float) -> bool:
        """Say whether to save so many seconds after the last time."""
        return self.minutes is not None and seconds >= 60 * self.minutes
