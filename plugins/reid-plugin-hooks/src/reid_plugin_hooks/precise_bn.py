"""Batch statistics for evaluation and export that lag behind no weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.batch_statistics import estimate_statistics

if TYPE_CHECKING:
    from reid_core import DefaultTrainer
    from reid_core.engine import Outcome


class PreciseBn:
    """Estimates the running statistics of batch normalisation anew, over training batches.

    During training they are moving averages over weights that have changed meanwhile. Here the
    weights stand still: mean and variance are the averages of the means and of the (unbiased)
    variances of ``batches`` batches. They are estimated for the model that is evaluated and
    exported, after the last step of the run, before the evaluation and the checkpoint there.

    Weights are not touched, and training is the same as without the hook. Frozen statistics stay.
    A run that another hook stops at the end of an epoch has been evaluated by then; with
    ``when: evaluation`` that evaluation has precise statistics too.

    Args:
        batches: Batches that are averaged over, at least 1.
        when: ``end``, or ``evaluation`` for before each evaluation too, that of the untrained model
            excepted.

    Raises:
        ConfigError: ``batches`` is below 1.

    Source: Wu and Johnson, Rethinking "Batch" in BatchNorm, 2021, section 3.
    """

    needs_whole_weights = True

    def __init__(self, *, batches: int = 200, when: Literal["end", "evaluation"] = "end") -> None:
        if batches < 1:
            raise ConfigError(f"hook precise_bn: batches is {batches}; expected at least 1")
        self._batches = batches
        self._when = when
        self._step = -1

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Make up for what an interruption at the very end has prevented."""
        if trainer.iter > 0:
            self._estimate_at_end(trainer)

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer) -> None:
        """Estimate after the last one."""
        self._estimate_at_end(trainer)

    @hookimpl
    def before_eval(self, trainer: DefaultTrainer) -> None:
        """Estimate before an evaluation, once for all its test sets."""
        if self._when == "evaluation" and trainer.steps_done > 0:
            self._estimate(trainer)

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Estimate for a run that was stopped, unless its figures are there already."""
        evaluations = trainer.results.evaluations
        is_measured = bool(evaluations) and evaluations[-1].step == trainer.iter
        if outcome.status == "stopped" and not is_measured:
            self._estimate(trainer)

    def state_dict(self) -> dict[str, object]:
        """Return the step of the last estimate."""
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the step of the last estimate back."""
        self._step = int(str(state["step"]))

    def _estimate_at_end(self, trainer: DefaultTrainer) -> None:
        if trainer.iter >= trainer.max_iter:
            self._estimate(trainer)

    def _estimate(self, trainer: DefaultTrainer) -> None:
        if self._step != trainer.steps_done:
            estimate_statistics(trainer, trainer.eval_model, batches=self._batches)
            self._step = trainer.steps_done
