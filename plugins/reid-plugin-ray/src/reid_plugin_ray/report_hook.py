"""Tells the sweep how a trial goes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reid_core.config import ConfigProblem
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core import Config, DefaultTrainer
    from reid_core.engine import Outcome

log = logging.getLogger("reid_plugin_ray")

#: Metrics of the first test set that are reported by their bare names.
METRICS = ("mAP", "mINP", "rank1", "rank5", "rank10")


class RayTune:
    """Reports the metrics of each evaluation to the sweep that a run is a trial of.

    ``reid-ray tune`` adds it to every trial. Reported are ``step``, ``epoch``, ``loss`` (the newest
    one in the log), the metrics of the first test set by their names and those of every set as
    ``<data set>/<metric>``. A report comes after the state of the epoch went to the checkpoint: a
    scheduler may end the trial with it. Outside of a sweep nothing is reported, so that
    ``reid-train`` can go on with the run folder of a trial.
    """

    #: A sweep knows a trial once, whatever number of processes it has.
    first_process_only = True

    def __init__(self) -> None:
        self._is_trial = False
        self._waiting: dict[str, object] | None = None

    @hookimpl
    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Refuse a run without evaluations: it would have nothing to report."""
        if config.evaluate.every > 0:
            return []
        message = "hook ray_tune reports evaluations; set it above 0"
        return [ConfigProblem("evaluate.every", message)]

    @hookimpl
    def before_train(self) -> None:
        """Find out whether there is a sweep."""
        self._is_trial = _is_trial()
        if not self._is_trial:
            log.warning("this run is no trial of a sweep: hook ray_tune reports nothing")

    @hookimpl
    def after_eval(self, trainer: DefaultTrainer, name: str, metrics: Mapping[str, float]) -> None:
        """Collect the metrics of a test set."""
        report = self._waiting or _progress(trainer)
        report |= {f"{name}/{key}": value for key, value in metrics.items()}
        if name == trainer.evaluators[0].name:
            report |= {key: metrics[key] for key in METRICS}
        self._waiting = report

    @hookimpl(tryfirst=True)
    def should_stop(self) -> str | None:
        """Report what an evaluation gave; by now the checkpoint has it."""
        self._report()
        return None

    @hookimpl(trylast=True)
    def after_train(self, outcome: Outcome) -> None:
        """Report the evaluation of a run that was stopped early."""
        if outcome.status in ("completed", "stopped"):
            self._report()

    def _report(self) -> None:
        if self._waiting is None:
            return
        report, self._waiting = self._waiting, None
        if self._is_trial:
            from ray import tune

            tune.report(report)


def _progress(trainer: DefaultTrainer) -> dict[str, object]:
    epochs, inside = divmod(trainer.iter, len(trainer.data_loader))
    report: dict[str, object] = {
        "step": trainer.iter,
        "epoch": trainer.iter / len(trainer.data_loader) if inside else epochs,
    }
    loss = trainer.storage.latest().get("loss")
    return report if loss is None else {**report, "loss": loss[0]}


def _is_trial() -> bool:
    # Ray has imported this wherever a trial runs; importing it elsewhere would take seconds.
    if "ray.tune" not in sys.modules:
        return False
    import warnings

    from ray import tune

    with warnings.catch_warnings():
        # Asked outside of a trial, it warns and gives None.
        warnings.simplefilter("ignore")
        return tune.get_context().get_trial_id() is not None
