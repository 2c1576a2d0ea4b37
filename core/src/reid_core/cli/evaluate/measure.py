"""The evaluation itself: of weights or of embeddings, with threshold and details."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.cli.evaluate.request import Request
from reid_core.errors import UsageError

if TYPE_CHECKING:
    from reid_core.config import Config
    from reid_core.config.components import Component
    from reid_core.contracts import ReidModel
    from reid_core.distributed.processes import Processes
    from reid_core.engine.evaluation.calibration import AppliedThreshold
    from reid_core.engine.evaluation.evaluated_set import EvaluatedSet, EvaluatedSets
    from reid_core.engine.record.weights_info import WeightsInfo
    from reid_core.engine.results import Evaluation
    from reid_core.evaluation.detail import Detail, Threshold

log = logging.getLogger("reid_core")


@dataclass(frozen=True, eq=False)
class Measured:
    """What an evaluation gave.

    Args:
        source: The weights or the file of embeddings.
        config: The configuration it was made by.
        sets: Test sets and figures.
        details: By (test set, whether reranked); empty where they were not asked for.
        thresholds: What the threshold does on each test set.
        threshold: The threshold that was chosen now, or stored earlier.
        weights: The file that a threshold chosen now is stored in; None where there is none.
    """

    source: str
    config: Config
    sets: EvaluatedSets
    details: dict[tuple[str, bool], Detail]
    thresholds: tuple[AppliedThreshold, ...] = ()
    threshold: Threshold | None = None
    weights: Path | None = None

    def detail_of(self, evaluation: Evaluation) -> Detail | None:
        """Return what more is known of an evaluation."""
        return self.details.get((evaluation.dataset, bool(evaluation.postprocessing)))


def measure(request: Request, processes: Processes) -> Measured:
    """Evaluate what was asked for.

    Args:
        request: Checked options.
        processes: Those that share the images.
    """
    done = _embeddings(request) if request.embeddings else _weights(request, processes)
    if not processes.is_first:
        return done
    wants_details = done.config.evaluate.details
    wants_details = wants_details if request.with_details is None else request.with_details
    done = replace(done, thresholds=_apply(done))
    return replace(done, details=_details(done)) if wants_details else done


def _embeddings(request: Request) -> Measured:
    from reid_core.engine.evaluation.embedding_evaluation import (
        embedding_config,
        evaluate_embeddings,
        weights_label,
    )
    from reid_core.engine.evaluation.evaluated_set import EvaluatedSets
    from reid_core.evaluation.files.embedding_file import read_embeddings

    path = request.embeddings
    assert path is not None
    config = embedding_config([*request.overrides])
    _require_reranked(request, config)
    embeddings = read_embeddings(path, name=request.dataset_name)
    threshold = None
    if request.calibrate and request.validation:
        from reid_core.engine.evaluation.calibration import calibrate, require_apart
        from reid_core.evaluation.metrics.threshold import Criterion

        criterion = Criterion.parse(request.calibrate)
        other = Path(request.validation)
        validation = read_embeddings(other)
        require_apart(validation, [embeddings])
        plain = _without_rerankers(config)
        label = weights_label(other)
        threshold = calibrate(
            evaluate_embeddings(validation, plain, weights=label),
            criterion,
            source=str(other) if validation.name == embeddings.name else None,
        )
    evaluated = evaluate_embeddings(embeddings, config, weights=weights_label(path))
    return Measured(str(path), config, EvaluatedSets((evaluated,)), {}, threshold=threshold)


def _weights(request: Request, processes: Processes) -> Measured:
    from reid_core.config import load_config
    from reid_core.engine.evaluation.calibration import require_storable
    from reid_core.engine.evaluation.config import evaluation_config
    from reid_core.engine.evaluation.measure import measure_model
    from reid_core.engine.evaluation.weights import config_of_weights, load_model
    from reid_core.engine.record.provenance import require_components_of_weights
    from reid_core.engine.record.weights_info import WeightsInfo, find_weights
    from reid_core.evaluation.metrics.threshold import Criterion

    criterion = Criterion.parse(request.calibrate) if request.calibrate else None
    paths = [find_weights(Path(one)) for one in request.checkpoints]
    if criterion and len(paths) == 1 and WeightsInfo.of(paths[0]).config is not None:
        require_storable(paths[0])
    configs = [
        load_config(request.config_name, request.overrides)
        if request.config_name
        else config_of_weights(path, request.overrides)
        for path in paths
    ]
    for config, path in zip(configs, paths, strict=True):
        require_components_of_weights(evaluation_config(config), path)
    _require_reranked(request, configs[0])
    validation_set = _validation_set(request.validation, configs[0]) if criterion else None
    if validation_set:
        _require_apart(validation_set, configs[0])
    models = [load_model(config, path) for config, path in zip(configs, paths, strict=True)]
    infos = [WeightsInfo.of(path) for path in paths]
    model, config, info = _one_model(models, infos, request), configs[0], infos[0]
    threshold = info.threshold if len(paths) == 1 else None
    if criterion and validation_set:
        threshold = None
        validation = measure_model(
            _on(validation_set, config), model, info, processes=processes
        ).sets[0]
    sets = measure_model(config, model, info, processes=processes)
    if criterion and validation_set:
        threshold = _chosen(validation, sets.sets, criterion, request.validation or "")
        if info.threshold is not None and len(paths) == 1:
            old = info.threshold
            log.info(
                "the threshold %.6g (%s distance, %s on %s) is stored instead of the earlier %.6g "
                "(%s distance, %s on %s)",
                *(threshold.value, threshold.distance, threshold.criterion, threshold.source),
                *(old.value, old.distance, old.criterion, old.source),
            )
    is_own = len(paths) == 1 and info.config is not None
    source = ", ".join(map(str, paths))
    weights = paths[0] if criterion and is_own else None
    return Measured(source, config, sets, {}, threshold=threshold, weights=weights)


def _require_reranked(request: Request, config: Config) -> None:
    asked = next((one for one in request.minimums if one.of_reranked), None)
    if asked and not config.evaluate.rerank:
        raise UsageError(f"{asked.option}: nothing is re-ranked: add --rerank")


def _require_apart(validation: Component, config: Config) -> None:
    from reid_core.engine.evaluation.calibration import require_images_apart
    from reid_core.engine.evaluation.config import evaluation_config
    from reid_core.engine.evaluation.parts import build_protocol
    from reid_core.plugins.index import disabled_plugins

    config = evaluation_config(config)
    with disabled_plugins(config.plugins.disable):
        pools = build_protocol(config).pools
        require_images_apart(validation, config.data.test_sets, pools=pools)


def _one_model(
    models: Sequence[ReidModel], infos: Sequence[WeightsInfo], request: Request
) -> ReidModel:
    if request.ensemble is None:
        return models[0]
    from reid_core.engine.evaluation.ensemble import ensemble_of

    return ensemble_of(models, request.ensemble, infos)


def _chosen(
    validation: EvaluatedSet, tests: Sequence[EvaluatedSet], criterion: object, text: str
) -> Threshold:
    from reid_core.engine.evaluation.calibration import calibrate, require_apart
    from reid_core.evaluation.metrics.threshold import Criterion

    assert isinstance(criterion, Criterion)
    require_apart(validation.embeddings, [test.embeddings for test in tests])
    # A name that a test set has too would say that it was chosen there.
    is_shared = validation.name in {test.name for test in tests}
    source = f"{validation.name} ({text})" if is_shared else None
    return calibrate(validation, criterion, source=source)


def _validation_set(text: str | None, config: Config) -> Component:
    """Read ``--validation``: a table's path, a component's name, or a component as YAML."""
    from pydantic import ValidationError

    from reid_core.config.components import Component
    from reid_core.config.yaml_reader import read_value

    text = text or ""
    suffix = Path(text).suffix.lower()
    plain: object
    if suffix in (".csv", ".parquet") and not text.lstrip().startswith("{"):
        plain = {"name": suffix.removeprefix("."), "file": text}
    else:
        plain = read_value(text, f"--validation {text}").plain()
    try:
        component = Component.model_validate(plain)
    except ValidationError as error:
        raise UsageError(
            f"--validation {text}: expected a table .csv or .parquet, or a data set as in "
            "data.test, for example '{name: market1501, root: other/data}'"
        ) from error
    if component in config.data.test_sets:
        raise UsageError(
            f"--validation {text} is a test set: a threshold chosen on the test set looks better "
            "there than it is; cut a validation set from the training images by 'reid-data split "
            "--val 0.2'"
        )
    return component


def _on(component: Component, config: Config) -> Config:
    plain = _without_rerankers(config)
    data = plain.data.model_copy(update={"test": [component], "combine_all": False})
    return plain.model_copy(update={"data": data})


def _without_rerankers(config: Config) -> Config:
    evaluate = config.evaluate.model_copy(update={"rerank": [], "combine": False})
    return config.model_copy(update={"evaluate": evaluate})


def _apply(done: Measured) -> tuple[AppliedThreshold, ...]:
    if done.threshold is None:
        return ()
    from reid_core.engine.evaluation.calibration import apply_threshold

    applied = (apply_threshold(each, done.threshold) for each in done.sets.sets)
    return tuple(one for one in applied if one is not None)


def _details(done: Measured) -> dict[tuple[str, bool], Detail]:
    from reid_core.engine.evaluation.evaluated_details import details_of

    rates = {one.dataset: one for one in done.thresholds}
    found = {}
    for each in done.sets.all:
        for detail in details_of(each, seed=done.config.seed):
            applied = rates.get(each.name) if not detail.postprocessing else None
            found[each.name, bool(detail.postprocessing)] = (
                detail
                if applied is None
                else replace(
                    detail, threshold=applied.threshold, threshold_rates=applied.rates.plain()
                )
            )
    return found
