"""Lines that say how a sweep goes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ray.tune import Callback

from reid_plugin_ray.tuning.folders import error_file, run_folder

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

log = logging.getLogger("reid_plugin_ray")


class Progress(Callback):
    """Logs a line when a trial reports, ends or fails.

    Args:
        metric: The metric that is shown.
        output: Folder of the sweep.
    """

    def __init__(self, metric: str, output: str) -> None:
        self._metric = metric
        self._output = output

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: Mapping[str, object],
        **info: object,
    ) -> None:
        """Log a report."""
        value = result.get(self._metric)
        told = "" if value is None else f", {self._metric} {value:.4f}"
        log.info("trial %s: epoch %s%s", _number(trial), result.get("epoch"), told)

    def on_trial_complete(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: object
    ) -> None:
        """Log an end."""
        log.info("trial %s: ended", _number(trial))

    def on_trial_recover(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: object
    ) -> None:
        """Log that a trial goes on after its process died."""
        # Ray starts a trial again that failed by itself too; that one ends at once.
        if error_file(run_folder(Path(self._output), str(trial.trial_id))).exists():
            return
        log.warning("trial %s: its process died; it goes on from its checkpoint", _number(trial))

    def on_trial_error(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: object
    ) -> None:
        """Log a failure."""
        log.warning("trial %s: failed; the sweep goes on", _number(trial))


def _number(trial: Trial) -> str:
    return str(trial.trial_id).rpartition("_")[2]
