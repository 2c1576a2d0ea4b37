"""All that is known of an evaluation, as ``details.json`` keeps it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.data.manifest import IdArray
from reid_core.engine.evaluation.combined import Combined
from reid_core.engine.evaluation.evaluator import Evaluator, Retrieval
from reid_core.engine.results import feature_words
from reid_core.evaluation import DistanceName, RetrievalResult, Search
from reid_core.evaluation.describe import describe
from reid_core.evaluation.detail import Detail


def details_of_retrieval(
    evaluator: Evaluator,
    retrieval: Retrieval,
    *,
    distance: DistanceName,
    step: int,
    test_feature: str = "",
    seed: int = 0,
) -> list[Detail]:
    """Describe in full what the evaluation of a test set gave.

    Args:
        evaluator: The test set and its protocol.
        retrieval: What :meth:`Evaluator.evaluate` returned.
        distance: The distance that it was evaluated by.
        step: Optimizer steps of the weights.
        test_feature: Where embeddings are taken from, in the words of the head.
        seed: Seed of the bootstrap and of the map.

    Returns:
        The plain figures, and those after reranking if there are any.
    """
    manifest, rows = evaluator.test_set.rows, retrieval.rows
    labels = retrieval.query.labels, retrieval.gallery.labels
    pid_names = _names(np.concatenate([one.pids for one in labels]), manifest.pids[rows])
    cameras = _names(np.concatenate([one.camids for one in labels]), manifest.camids[rows])
    told = [feature_words(test_feature), retrieval.features]
    return [
        describe(
            retrieval.query,
            retrieval.gallery,
            protocol=evaluator.protocol,
            result=result,
            distance=distance,
            rerankers=evaluator.rerankers if result.postprocessing else (),
            dataset=evaluator.name,
            step=step,
            features="; ".join(filter(None, told)),
            pid_names=pid_names,
            camera_names=cameras,
            has_cameras=evaluator.has_cameras,
            seed=seed,
            made=_made(result, retrieval.search),
        )
        for result in retrieval.results
    ]


def details_of_combined(
    combined: Combined,
    *,
    name: str,
    distance: DistanceName,
    step: int,
    features: str = "",
    seed: int = 0,
) -> list[Detail]:
    """Describe in full what the evaluation of several test sets as one gave.

    Args:
        combined: The sets.
        name: What they are called together.
        distance: The distance that they were evaluated by.
        step: Optimizer steps of the weights.
        features: How the embeddings were made, in one line.
        seed: Seed of the bootstrap and of the map.

    Returns:
        The plain figures, and those after reranking if there are any.
    """
    return [
        describe(
            combined.query,
            combined.gallery,
            protocol=combined.protocol,
            result=result,
            distance=distance,
            rerankers=combined.rerankers if result.postprocessing else (),
            dataset=name,
            step=step,
            features=features,
            pid_names=combined.pid_names,
            camera_names=combined.camera_names,
            has_cameras=combined.has_cameras,
            seed=seed,
            made=_made(result, combined.measured.search),
        )
        for result in combined.measured.results
    ]


def write_details(path: Path, details: Sequence[Detail]) -> None:
    """Write ``details.json``; a number that is not defined is null there.

    Args:
        path: The file.
        details: Plain before reranked, test set by test set.

    Raises:
        OSError: The disk is full, say; an old file is untouched.
    """
    plain = {"schema": 1, "details": [_without_nan(asdict(detail)) for detail in details]}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    write_text_atomically(path, text + "\n")


def _made(result: RetrievalResult, search: Search | None) -> list[Search] | None:
    """Return the search that re-ranking made: it is not done twice."""
    return [search] if result.postprocessing and search is not None else None


def _names(codes: NDArray[np.int64], spelled: IdArray) -> dict[int, str]:
    values, first = np.unique(codes, return_index=True)
    return dict(zip(values.tolist(), map(str, spelled[first].tolist()), strict=True))


def _without_nan(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    return [_without_nan(one) for one in value] if isinstance(value, list | tuple) else value
