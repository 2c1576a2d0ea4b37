"""Several test sets evaluated as one: the queries of all search the galleries of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.engine.evaluation_parts import build_protocol, build_rerankers
from reid_core.engine.evaluator import Evaluator, Retrieval
from reid_core.evaluation import (
    Embeddings,
    Labels,
    RetrievalResult,
    evaluate_retrieval,
    no_camera,
)

#: Gallery entries of this pid are junk, in every set.
_JUNK = -1
#: Kinds of numpy's dtypes that are numbers.
_NUMBERS = "biuf"


def combined_name(evaluators: Sequence[Evaluator]) -> str:
    """Return what the sets together are called in results."""
    return "+".join(evaluator.name for evaluator in evaluators)


def evaluate_combined(
    evaluators: Sequence[Evaluator], retrievals: Sequence[Retrieval], config: Config
) -> tuple[list[RetrievalResult], list[str]]:
    """Evaluate test sets as one, from the embeddings that their own evaluations made.

    Identities and cameras of two sets are never taken for the same, so each set is made of mistakes
    for the queries of the others. No match of a set without cameras is left out.

    Args:
        evaluators: The sets.
        retrievals: What each of them gave.
        config: Protocol and distance.

    Returns:
        The figures, plain and then reranked if the config says so, and what is to be said beside
        them.
    """
    labels = join_labels(
        [(one.query.labels, one.gallery.labels) for one in retrievals],
        [evaluator.has_cameras for evaluator in evaluators],
    )
    sides = (
        Embeddings(torch.cat(list(features)), joined.pids, joined.camids, joined.columns)
        for features, joined in zip(
            (
                [one.query.features for one in retrievals],
                [one.gallery.features for one in retrievals],
            ),
            labels,
            strict=True,
        )
    )
    query, gallery = sides
    protocol = build_protocol(config)
    caveats = list(dict.fromkeys(c for evaluator in evaluators for c in evaluator.caveats))
    blind = [evaluator.name for evaluator in evaluators if not evaluator.has_cameras]
    if protocol.needs_cameras and blind:
        if len(blind) == len(evaluators):
            protocol = no_camera()
        caveats.append(f"camera filter off for {', '.join(blind)}: cameras not known")
    chains = [[], build_rerankers(config)] if config.evaluate.rerank else [[]]
    results = [
        evaluate_retrieval(
            query,
            gallery,
            distance=config.evaluate.distance,
            protocol=protocol,
            rerankers=rerankers,
        )
        for rerankers in chains
    ]
    return results, caveats


def join_labels(
    sets: Sequence[tuple[Labels, Labels]], has_cameras: Sequence[bool]
) -> tuple[Labels, Labels]:
    """Put the labels of several sets one after another, identities and cameras kept apart.

    Args:
        sets: Query and gallery of each set.
        has_cameras: Whether each knows its cameras; where not, every image gets a camera of its
            own, so that no match is in the query's.

    Returns:
        Query and gallery of all. Junk keeps the pid -1; other identities are numbered from 1.
    """
    queries: list[Labels] = []
    galleries: list[Labels] = []
    first_pid, first_camera = 1, 1
    names = _joinable([query for query, _ in sets])
    for (query, gallery), knows in zip(sets, has_cameras, strict=True):
        cut = len(query)
        pids = _numbered(np.concatenate([query.pids, gallery.pids]), first_pid)
        given = np.concatenate([query.camids, gallery.camids])
        camids = _numbered(given if knows else np.arange(len(given)), first_camera, junk=None)
        first_pid = max(first_pid, int(pids.max(initial=0)) + 1)
        first_camera = int(camids.max(initial=0)) + 1
        queries.append(Labels(pids[:cut], camids[:cut], _only(query, names)))
        galleries.append(Labels(pids[cut:], camids[cut:], _only(gallery, names)))
    return _stacked(queries, names), _stacked(galleries, names)


def _joinable(parts: Sequence[Labels]) -> set[str]:
    """Return the columns that all have, with as many values a row: others mean other things."""
    names = set.intersection(*(set(part.columns) for part in parts))
    return {name for name in names if len({part.columns[name].shape[1:] for part in parts}) == 1}


def _numbered(values: NDArray[np.int64], first: int, junk: int | None = _JUNK) -> NDArray[np.int64]:
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64) + first
    return codes if junk is None else np.where(values == junk, junk, codes)


def _only(labels: Labels, names: set[str]) -> dict[str, NDArray[np.generic]]:
    return {name: labels.columns[name] for name in sorted(names)}


def _stacked(parts: Sequence[Labels], names: set[str]) -> Labels:
    return Labels(
        np.concatenate([part.pids for part in parts]),
        np.concatenate([part.camids for part in parts]),
        {name: _joined([part.columns[name] for part in parts]) for name in sorted(names)},
    )


def _joined(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    """Join a column; numbers of one set become text where they are text in another."""
    is_text = [part.dtype.kind not in _NUMBERS for part in parts]
    if any(is_text) and not all(is_text):
        parts = [np.array(list(map(str, part.tolist()))) for part in parts]
    return np.concatenate(parts)
