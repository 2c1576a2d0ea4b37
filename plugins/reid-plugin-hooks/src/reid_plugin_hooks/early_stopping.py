"""Stop when the evaluation no longer gets better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from reid_core.config import ConfigProblem
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core import Config, DefaultTrainer

Monitor = Literal["mAP", "mINP", "rank1", "rank5", "rank10"]


class EarlyStopping:
    """Ends training after ``patience`` evaluations in a row without a gain.

    The metric is the one of the first test set. The count survives a resume.

    Args:
        patience: Evaluations without a gain, at least 1.
        min_delta: A gain must be larger than this; a fraction like the metrics.
        monitor: The metric.

    Raises:
        ConfigError: A number is outside its range.
    """

    def __init__(
        self, *, patience: int = 5, min_delta: float = 0.0, monitor: Monitor = "mAP"
    ) -> None:
        if patience < 1:
            raise ConfigError(f"hook early_stopping: patience is {patience}; expected at least 1")
        if min_delta < 0:
            raise ConfigError(f"hook early_stopping: min_delta is {min_delta}; expected 0 or more")
        self._patience = patience
        self._min_delta = min_delta
        self._monitor = monitor
        self._best = -math.inf
        self._waited = 0
        self._step = 0

    @hookimpl
    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Refuse a run without evaluations: it would never stop."""
        if config.evaluate.every > 0:
            return []
        return [
            ConfigProblem("evaluate.every", "hook early_stopping needs evaluations; set it above 0")
        ]

    @hookimpl
    def after_eval(self, trainer: DefaultTrainer, name: str, metrics: Mapping[str, float]) -> None:
        """Count evaluations without a gain."""
        # An evaluation that was interrupted behind the first set is done again from there.
        if name != trainer.evaluators[0].name or trainer.iter == self._step:
            return
        self._step = trainer.iter
        value = metrics[self._monitor]
        if value > self._best + self._min_delta:
            self._best, self._waited = value, 0
        else:
            self._waited += 1

    @hookimpl
    def should_stop(self) -> str | None:
        """Give the reason once patience has run out."""
        if self._waited < self._patience:
            return None
        return (
            f"early stopping: {self._monitor} has not risen above {self._best:.4f} for "
            f"{self._waited} evaluations"
        )

    def state_dict(self) -> dict[str, object]:
        """Return the best value, the count, and the step of the newest evaluation."""
        return {"best": self._best, "waited": self._waited, "step": self._step}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the best value and the count back."""
        self._best, self._waited = float(str(state["best"])), int(str(state["waited"]))
        # Earlier versions did not save it.
        self._step = int(str(state.get("step", 0)))
