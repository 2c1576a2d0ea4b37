"""The checks of a schedule."""

from __future__ import annotations

import math
from typing import ClassVar, cast

from reid_core.optim.schedules import Schedule
from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators


class ScheduleConformance(Conformance):
    """The checks of a schedule: the factor on the learning rate, by epoch.

    Attributes:
        total_epochs: Length of the run.
        warmup_epochs: Length of the warm-up before the schedule.
        tick_epochs: Distance of two steps in epochs.
        base_lr: The learning rate that the factor acts on.
    """

    kind = "schedules"
    total_epochs: ClassVar[float] = 12.0
    warmup_epochs: ClassVar[float] = 2.0
    tick_epochs: ClassVar[float] = 0.125
    base_lr: ClassVar[float] = 0.1

    def context(self) -> dict[str, object]:
        """Return the lengths and the learning rate."""
        return {
            "total_epochs": self.total_epochs,
            "warmup_epochs": self.warmup_epochs,
            "tick_epochs": self.tick_epochs,
            "base_lr": self.base_lr,
        }

    def build_schedule(self) -> Schedule:
        """Build the schedule."""
        schedule = self.build()
        self.require(
            callable(getattr(schedule, "factor", None)),
            f"it gave a {type(schedule).__name__} without a method factor(epoch)",
        )
        return cast("Schedule", schedule)

    def epochs(self) -> list[float]:
        """Return the epochs that are tried, from 0 to the end, with fractions."""
        steps = round(1 / self.tick_epochs)
        return [step / steps for step in range(int(self.total_epochs * steps) + 1)]

    # Checks.

    def test_factor_is_a_finite_number(self) -> None:
        """The factor of every epoch is a number of at least 0."""
        schedule = self.build_schedule()
        for epoch in self.epochs():
            with self.attempt(f"at epoch {epoch:.3f}", "expected factor(epoch) for any epoch"):
                factor = schedule.factor(epoch)
            is_number = isinstance(factor, int | float) and not isinstance(factor, bool)
            self.require(
                is_number and math.isfinite(factor) and factor >= 0,
                f"factor({epoch:.3f}) is {factor!r}; expected a finite float of at least 0",
            )

    def test_factor_depends_on_the_epoch_alone(self) -> None:
        """A resumed run asks for any epoch first; nothing is counted from call to call."""
        schedule, backwards = self.build_schedule(), self.build_schedule()
        in_order = [schedule.factor(epoch) for epoch in self.epochs()]
        reverse = [backwards.factor(epoch) for epoch in reversed(self.epochs())]
        again = [schedule.factor(epoch) for epoch in self.epochs()]
        for epoch, first, second, third in zip(
            self.epochs(), in_order, reversed(reverse), again, strict=True
        ):
            self.require(
                first == second == third,
                f"factor({epoch:.3f}) is {first!r} at one time, "
                f"{second if second != first else third!r} at another; expected a function of "
                "epoch alone: count nothing in the object",
            )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """Asking for a factor touches no global generator."""
        used = used_generators(lambda: [self.build_schedule().factor(e) for e in self.epochs()])
        self.require(not used, f"it uses the global generator of {', '.join(used)}; expected none")
