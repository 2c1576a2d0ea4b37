"""A model measured on the test sets of a config, without training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.config.components import Component
from reid_core.contracts import ReidModel
from reid_core.data.sources import Sources
from reid_core.distributed.processes import ALONE, Processes
from reid_core.engine.data_check import check_data
from reid_core.engine.device import pick_device
from reid_core.engine.evaluation.combined import (
    Combined,
    combined_name,
    evaluate_combined,
    require_combinable,
)
from reid_core.engine.evaluation.config import evaluation_config
from reid_core.engine.evaluation.evaluated_set import EvaluatedSet, EvaluatedSets
from reid_core.engine.evaluation.evaluator import Evaluator, Retrieval
from reid_core.engine.evaluation.parts import build_protocol
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.engine.results import Evaluation, feature_of
from reid_core.evaluation import RetrievalResult
from reid_core.evaluation.files.embedding_set import EmbeddingSet, Side
from reid_core.plugins.index import disabled_plugins


def evaluate_model(
    config: Config, model: ReidModel, info: WeightsInfo | None = None
) -> list[Evaluation]:
    """Evaluate a model on the test sets of a config.

    Args:
        config: Test sets, protocol and distance.
        model: On the config's device.
        info: Where its weights come from, to be stated beside the numbers.

    Returns:
        One record a test set.
    """
    return measure_model(config, model, info).evaluations


def measure_model(
    config: Config,
    model: ReidModel,
    info: WeightsInfo | None = None,
    *,
    processes: Processes = ALONE,
) -> EvaluatedSets:
    """Evaluate a model, and keep the embeddings for further figures.

    Args:
        config: Test sets, protocol and distance.
        model: On the config's device.
        info: Where its weights come from, to be stated beside the numbers.
        processes: Those that share the images; each of them has all figures.

    Returns:
        Each test set with its figures, and those of all sets as one.
    """
    config = evaluation_config(config)
    with disabled_plugins(config.plugins.disable):
        return _measure_model(config, model, info or WeightsInfo(Path()), processes)


def _measure_model(
    config: Config, model: ReidModel, info: WeightsInfo, processes: Processes
) -> EvaluatedSets:
    sources = Sources(
        train=_trained_and_tested(config),
        test=config.data.test_sets,
        combine_all=config.data.combine_all,
        pools=build_protocol(config).pools,
        trains=False,
    )
    device = pick_device(config.device)
    tests = sources.test_sets()
    check_data(config, [], tests)
    evaluators = [Evaluator(test, config, device, processes) for test in tests]
    require_combinable(evaluators, config)
    for component, evaluator in zip(config.data.test_sets, evaluators, strict=True):
        evaluator.condition_on(
            model.conditions, info.cameras, trained_as=info.name_in_training(component)
        )
    retrievals = [evaluator.evaluate(model, lambda: None) for evaluator in evaluators]
    sets = tuple(
        _evaluated_set(evaluator, retrieval, config, model, info)
        for evaluator, retrieval in zip(evaluators, retrievals, strict=True)
    )
    if not config.evaluate.combine or len(evaluators) < 2:
        return EvaluatedSets(sets)
    together = evaluate_combined(evaluators, retrievals, config)
    name, features = combined_name(evaluators), retrievals[0].features
    return EvaluatedSets(
        sets,
        EvaluatedSet(
            embeddings=embeddings_of_combined(evaluators, together),
            protocol=together.protocol,
            distance=config.evaluate.distance,
            rerankers=together.rerankers,
            results=together.measured.results,
            evaluations=tuple(
                _record(name, result, together.caveats, features, model, info)
                for result in together.measured.results
            ),
            describe=lambda row: _described(evaluators, together.places[row]),
            search=together.measured.search,
        ),
    )


def _described(evaluators: Sequence[Evaluator], place: tuple[int, int]) -> dict[str, object]:
    number, row = place
    return evaluators[number].describe(row)


def _evaluated_set(
    evaluator: Evaluator,
    retrieval: Retrieval,
    config: Config,
    model: ReidModel,
    info: WeightsInfo,
) -> EvaluatedSet:
    def describe(row: int) -> dict[str, object]:
        return evaluator.describe(int(retrieval.rows[row]))

    return EvaluatedSet(
        embeddings=embeddings_of(evaluator, retrieval),
        protocol=evaluator.protocol,
        distance=config.evaluate.distance,
        rerankers=tuple(evaluator.rerankers) if retrieval.reranked is not None else (),
        results=tuple(retrieval.results),
        evaluations=tuple(
            _record(evaluator.name, result, evaluator.caveats, retrieval.features, model, info)
            for result in retrieval.results
        ),
        describe=describe,
        search=retrieval.search,
    )


def _record(
    name: str,
    result: RetrievalResult,
    caveats: Sequence[str],
    features: str,
    model: ReidModel,
    info: WeightsInfo,
) -> Evaluation:
    return Evaluation.of(
        name,
        result,
        step=info.step,
        epoch=info.epoch,
        weights=info.label,
        test_feature=feature_of(model),
        features=features,
        caveats=caveats,
    )


def embeddings_of(evaluator: Evaluator, retrieval: Retrieval) -> EmbeddingSet:
    """Return the embeddings of a test set with what the data calls each row.

    Args:
        evaluator: The set.
        retrieval: What its evaluation gave.
    """
    manifest = evaluator.test_set.rows
    sides = []
    count = len(retrieval.query)
    for rows, embeddings in (
        (retrieval.rows[:count], retrieval.query),
        (retrieval.rows[count:], retrieval.gallery),
    ):
        sides.append(
            Side(
                features=embeddings.features.float().cpu().numpy(),
                pids=cast("NDArray[np.generic]", manifest.pids[rows]),
                camids=cast("NDArray[np.generic]", manifest.camids[rows])
                if evaluator.has_cameras
                else None,
                paths=np.array([evaluator.path(int(row)) for row in rows], dtype=np.str_),
                columns=embeddings.labels.columns,
            )
        )
    return EmbeddingSet(
        evaluator.name,
        retrieval.query,
        retrieval.gallery,
        (sides[0], sides[1]),
        evaluator.has_cameras,
    )


def embeddings_of_combined(evaluators: Sequence[Evaluator], combined: Combined) -> EmbeddingSet:
    """Return the embeddings of several sets as one; identities and cameras are named by set.

    Args:
        evaluators: The sets.
        combined: What their evaluation together gave.
    """
    sides = []
    count = len(combined.query)
    for places, embeddings in (
        (combined.places[:count], combined.query),
        (combined.places[count:], combined.gallery),
    ):
        labels = embeddings.labels
        pids = [combined.pid_names[pid] for pid in labels.pids.tolist()]
        cameras = [combined.camera_names[camera] for camera in labels.camids.tolist()]
        paths = [evaluators[number].path(row) for number, row in places]
        sides.append(
            Side(
                features=embeddings.features.float().cpu().numpy(),
                pids=np.array(pids, dtype=np.str_),
                camids=np.array(cameras, dtype=np.str_) if combined.has_cameras else None,
                paths=np.array(paths, dtype=np.str_),
                columns=labels.columns,
            )
        )
    return EmbeddingSet(
        combined_name(evaluators),
        combined.query,
        combined.gallery,
        (sides[0], sides[1]),
        combined.has_cameras,
    )


def _trained_and_tested(config: Config) -> list[Component]:
    """Return the training sets that are tested too; others need not be on this machine."""
    return [component for component in config.data.train if component in config.data.test_sets]
