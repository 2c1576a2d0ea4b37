"""The evaluation of a trainer's model on its test sets, each and together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reid_core.engine.combined import combined_name, evaluate_combined
from reid_core.engine.results import Evaluation, feature_of
from reid_core.evaluation import RetrievalResult

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")


def evaluate_test_sets(trainer: DefaultTrainer) -> None:
    """Evaluate the current model, and hand figures to results, log and hooks.

    Args:
        trainer: Its ``results`` and ``rankings`` are written.
    """
    trainer.rankings = []
    retrievals = []
    for position, evaluator in enumerate(trainer.evaluators):
        trainer.hooks.before_eval(trainer=trainer, name=evaluator.name)
        retrieval = evaluator.evaluate(trainer.eval_model, trainer.check_interrupt)
        retrievals.append(retrieval)
        trainer.rankings += evaluator.rankings(retrieval, seed=trainer.config.seed)
        _add(
            trainer,
            evaluator.name,
            retrieval.results,
            evaluator.caveats,
            is_first=position == 0,
        )
    if trainer.config.evaluate.combine and len(trainer.evaluators) > 1:
        name = combined_name(trainer.evaluators)
        trainer.hooks.before_eval(trainer=trainer, name=name)
        results, caveats = evaluate_combined(trainer.evaluators, retrievals, trainer.config)
        _add(trainer, name, results, caveats)


def _add(
    trainer: DefaultTrainer,
    name: str,
    results: Sequence[RetrievalResult],
    caveats: Sequence[str],
    *,
    is_first: bool = False,
) -> None:
    plain, *reranked = [
        Evaluation.of(
            name,
            result,
            step=trainer.iter,
            epoch=trainer.iter / len(trainer.data_loader),
            test_feature=feature_of(trainer.eval_model),
            caveats=caveats,
        )
        for result in results
    ]
    # The untrained model is measured to show the gain; it is never the best one. What is best is
    # decided by plain figures, and hooks hear of these.
    monitor = trainer.config.evaluate.monitor if is_first and trainer.iter > 0 else None
    trainer.results.add(plain, monitor=monitor)
    log.info("%s", plain.line())
    for evaluation in reranked:
        trainer.results.add(evaluation, monitor=None)
        log.info("%s", evaluation.line())
    scalars = {f"{name}/{key}": value for key, value in plain.metrics.items()}
    trainer.log_scalars(trainer.iter, scalars)
    trainer.hooks.after_eval(trainer=trainer, name=name, metrics=plain.metrics)
