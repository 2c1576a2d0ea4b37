"""All that is known of an evaluated test set, plain and re-ranked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.engine.evaluation.evaluated_set import EvaluatedSet
from reid_core.evaluation.describe import describe
from reid_core.evaluation.detail import Detail


def details_of(evaluated: EvaluatedSet, *, seed: int = 0) -> list[Detail]:
    """Describe the figures of a test set in full.

    Args:
        evaluated: The test set.
        seed: Seed of the bootstrap.

    Returns:
        One record an evaluation, in their order.
    """
    names = _names(evaluated)
    return [
        describe(
            evaluated.query,
            evaluated.gallery,
            protocol=evaluated.protocol,
            result=result,
            distance=evaluated.distance,
            rerankers=evaluated.rerankers if result.postprocessing else (),
            dataset=evaluated.name,
            step=evaluation.step,
            features=evaluated.features,
            pid_names=names[0],
            camera_names=names[1],
            has_cameras=evaluated.embeddings.has_cameras,
            seed=seed,
            made=evaluated.searches(is_reranked=bool(result.postprocessing)),
        )
        for result, evaluation in zip(evaluated.results, evaluated.evaluations, strict=True)
    ]


def _names(evaluated: EvaluatedSet) -> tuple[dict[int, str], dict[int, str] | None]:
    embeddings = evaluated.embeddings
    labels = [evaluated.query.labels, evaluated.gallery.labels]
    pids = _named([one.pids for one in labels], [side.pids for side in embeddings.sides])
    cameras = [side.camids for side in embeddings.sides if side.camids is not None]
    if len(cameras) < len(labels):
        return pids, None
    return pids, _named([one.camids for one in labels], cameras)


def _named(codes: list[NDArray[np.int64]], spelled: list[NDArray[np.generic]]) -> dict[int, str]:
    values, first = np.unique(np.concatenate(codes), return_index=True)
    names = np.concatenate([one.astype(str) for one in spelled])
    return {int(code): str(names[row]) for code, row in zip(values, first, strict=True)}
