"""The evaluation of a trainer's model on its test sets, each and together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reid_core.data.limits import limit_caveats
from reid_core.engine.evaluation.combined import combined_name, evaluate_combined
from reid_core.engine.evaluation.details import (
    details_of_combined,
    details_of_retrieval,
    write_details,
)
from reid_core.engine.evaluation.evaluator import Evaluator, Retrieval
from reid_core.engine.evaluation.extraction import EmbeddingsNotFiniteError
from reid_core.engine.faults.divergence import advice
from reid_core.engine.parallel.data_parallel import take_statistics_of_first
from reid_core.engine.results import Evaluation, feature_of
from reid_core.errors import TrainingError
from reid_core.evaluation import RetrievalResult

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")


def evaluation_names(trainer: DefaultTrainer) -> list[str]:
    """Return the names that an evaluation has figures under, in their order."""
    names = [evaluator.name for evaluator in trainer.evaluators]
    if trainer.config.evaluate.combine and len(names) > 1:
        names.append(combined_name(trainer.evaluators))
    return names


def evaluate_test_sets(trainer: DefaultTrainer) -> None:
    """Evaluate the current model, and hand figures to results, log and hooks.

    Args:
        trainer: Its ``results``, ``rankings``, ``retrievals`` and ``combined`` are written.

    Raises:
        TrainingError: Embeddings are not finite: training has diverged.
    """
    trainer.rankings = []
    trainer.retrievals = retrievals = []
    trainer.combined = None
    for position, evaluator in enumerate(trainer.evaluators):
        trainer.hooks.before_eval(trainer=trainer, name=evaluator.name)
        take_statistics_of_first(trainer.processes, trainer.model, trainer.eval_model)
        if trainer.parallel is not None:
            trainer.parallel.refresh_evaluated()
        retrieval = _evaluate(trainer, evaluator)
        retrievals.append(retrieval)
        trainer.rankings += evaluator.rankings(retrieval, seed=trainer.config.seed)
        _add(
            trainer,
            evaluator.name,
            retrieval.results,
            evaluator.caveats,
            features=retrieval.features,
            is_first=position == 0,
        )
    if trainer.config.evaluate.combine and len(trainer.evaluators) > 1:
        name = combined_name(trainer.evaluators)
        trainer.hooks.before_eval(trainer=trainer, name=name)
        trainer.combined = combined = evaluate_combined(
            trainer.evaluators, retrievals, trainer.config
        )
        results, caveats = combined.measured.results, combined.caveats
        _add(trainer, name, results, caveats, features=retrievals[0].features)


def write_run_details(trainer: DefaultTrainer) -> None:
    """Write ``details.json`` of the newest evaluation into the run folder.

    Args:
        trainer: Its ``retrievals`` and ``combined`` are what was measured.
    """
    distance, seed = trainer.config.evaluate.distance, trainer.config.seed
    step, feature = trainer.results.evaluations[-1].step, feature_of(trainer.eval_model)
    details = [
        detail
        for evaluator, retrieval in zip(trainer.evaluators, trainer.retrievals, strict=True)
        for detail in details_of_retrieval(
            evaluator,
            retrieval,
            distance=distance,
            step=step,
            test_feature=feature,
            seed=seed,
        )
    ]
    if trainer.combined is not None:
        details += details_of_combined(
            trainer.combined,
            name=combined_name(trainer.evaluators),
            distance=distance,
            step=step,
            features=details[0].features,
            seed=seed,
        )
    write_details(trainer.folder.path / "details.json", details)


def _evaluate(trainer: DefaultTrainer, evaluator: Evaluator) -> Retrieval:
    try:
        return evaluator.evaluate(trainer.eval_model, trainer.check_own_interrupt)
    except EmbeddingsNotFiniteError as error:
        if trainer.iter == 0:
            # Nothing was trained: it is the data, or the weights that training begins with.
            raise
        own = trainer.folder.checkpoints.path_of(trainer.iter)
        raise TrainingError(
            f"the model has diverged by step {trainer.iter} (learning rate "
            f"{trainer.current_lr:g}): {error}. {advice(trainer, without=own)}"
        ) from error


def _add(
    trainer: DefaultTrainer,
    name: str,
    results: Sequence[RetrievalResult],
    caveats: Sequence[str],
    *,
    features: str,
    is_first: bool = False,
) -> None:
    plain, *reranked = [
        Evaluation.of(
            name,
            result,
            step=trainer.iter,
            epoch=trainer.iter / len(trainer.data_loader),
            test_feature=feature_of(trainer.eval_model),
            features=features,
            caveats=[*caveats, *limit_caveats(trainer.config.train, len(trainer.data_loader))],
        )
        for result in results
    ]
    for warning in results[0].warnings():
        log.warning("test set %s: %s", name, warning)
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
