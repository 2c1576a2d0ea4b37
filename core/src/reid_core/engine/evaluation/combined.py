"""Several test sets evaluated as one: the queries of all search the galleries of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.engine.evaluation.evaluator import Evaluator, Retrieval
from reid_core.engine.evaluation.measurement import Measurement, measure_embeddings
from reid_core.engine.evaluation.parts import build_protocol, build_rerankers
from reid_core.engine.evaluation.protocol_choice import protocol_for
from reid_core.errors import ConfigError
from reid_core.evaluation import (
    Embeddings,
    Labels,
    Protocol,
    Reranker,
)

#: Gallery entries of this pid are junk, in every set.
_JUNK = -1
#: Kinds of numpy's dtypes that are numbers.
_NUMBERS = "biuf"
#: The column whose equal values group images; two sets number theirs alike.
_GROUPS = "tracklets"


@dataclass(frozen=True, eq=False)
class Combined:
    """Several test sets as one.

    Args:
        query: Embeddings of all queries, set by set.
        gallery: Embeddings of all gallery entries.
        protocol: The rule.
        rerankers: What was done for the second figures; empty without.
        measured: The figures.
        caveats: What is to be said beside them.
        pid_names: What each identity is called: its set, and its name there.
        camera_names: The same of cameras.
        has_cameras: Whether a set knows its cameras.
        places: Set and row of it for each row, queries before gallery.
    """

    query: Embeddings
    gallery: Embeddings
    protocol: Protocol
    rerankers: tuple[Reranker, ...]
    measured: Measurement
    caveats: tuple[str, ...]
    pid_names: dict[int, str]
    camera_names: dict[int, str]
    has_cameras: bool
    places: tuple[tuple[int, int], ...] = field(repr=False)


def combined_name(evaluators: Sequence[Evaluator]) -> str:
    """Return what the sets together are called in results."""
    return "+".join(evaluator.name for evaluator in evaluators)


def require_combinable(evaluators: Sequence[Evaluator], config: Config) -> None:
    """Refuse a protocol that several sets cannot be evaluated by as one; nothing is embedded yet.

    Args:
        evaluators: The sets.
        config: Protocol, and whether sets are combined.

    Raises:
        ConfigError: It reads the numbers of cameras.
    """
    protocol = build_protocol(config)
    if config.evaluate.combine and len(evaluators) > 1 and protocol.reads_camera_numbers:
        raise ConfigError(
            f"evaluate.combine: protocol {protocol.name} searches cameras of certain numbers, and "
            f"the cameras of {combined_name(evaluators)} are numbered anew when the sets are put "
            "together; set evaluate.combine to false, or choose another evaluate.protocol"
        )


def evaluate_combined(
    evaluators: Sequence[Evaluator], retrievals: Sequence[Retrieval], config: Config
) -> Combined:
    """Evaluate test sets as one, from the embeddings that their own evaluations made.

    Identities and cameras of two sets are never taken for the same, so each set is made of mistakes
    for the queries of the others. No match of a set without cameras is left out.

    Args:
        evaluators: The sets.
        retrievals: What each of them gave.
        config: Protocol and distance.

    Returns:
        The figures, plain and then reranked if the config says so, and what they were made from.
    """
    asked = build_protocol(config)
    require_combinable(evaluators, config)
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
    caveats = list(dict.fromkeys(c for evaluator in evaluators for c in evaluator.caveats))
    blind = [evaluator.name for evaluator in evaluators if not evaluator.has_cameras]
    protocol = protocol_for(
        asked,
        has_cameras=len(blind) < len(evaluators),
        what=f"test set {combined_name(evaluators)}",
    )
    if asked.needs_cameras and blind:
        caveats.append(f"camera filter off for {', '.join(blind)}: cameras not known")
    rerankers = tuple(build_rerankers(config))
    measured = measure_embeddings(
        query,
        gallery,
        distance=config.evaluate.distance,
        protocol=protocol,
        rerankers=rerankers,
    )
    places = (*_places(retrievals, side=0), *_places(retrievals, side=1))
    pids, cameras = _names(evaluators, places, labels)
    return Combined(
        query,
        gallery,
        protocol,
        rerankers,
        measured,
        tuple(caveats),
        pids,
        cameras,
        len(blind) < len(evaluators),
        places,
    )


def _places(retrievals: Sequence[Retrieval], *, side: int) -> Iterator[tuple[int, int]]:
    """Yield set and row of it of the queries, or of the gallery entries, of all sets."""
    for number, one in enumerate(retrievals):
        cut = len(one.query)
        rows = one.rows[cut:] if side else one.rows[:cut]
        yield from ((number, row) for row in rows.tolist())


def _names(
    evaluators: Sequence[Evaluator],
    places: Sequence[tuple[int, int]],
    labels: tuple[Labels, Labels],
) -> tuple[dict[int, str], dict[int, str]]:
    """Return what identities and cameras are called: two sets may have one name for two."""
    pids = np.concatenate([one.pids for one in labels]).tolist()
    camids = np.concatenate([one.camids for one in labels]).tolist()
    pid_names, camera_names = {_JUNK: str(_JUNK)}, {}
    for (number, row), pid, camid in zip(places, pids, camids, strict=True):
        evaluator = evaluators[number]
        rows = evaluator.test_set.rows
        if pid not in pid_names:
            pid_names[pid] = f"{evaluator.name}/{rows.pids[row]}"
        if camid not in camera_names:
            known = rows.camids[row] if evaluator.has_cameras else f"not known {camid}"
            camera_names[camid] = f"{evaluator.name}/{known}"
    return pid_names, camera_names


def join_labels(
    sets: Sequence[tuple[Labels, Labels]], has_cameras: Sequence[bool]
) -> tuple[Labels, Labels]:
    """Put the labels of several sets one after another, identities and cameras kept apart.

    Args:
        sets: Query and gallery of each set.
        has_cameras: Whether each knows its cameras; where not, every image, or tracklet, gets a
            camera of its own, so that no match is in the query's.

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
        cameras = given if knows else _apart(query, gallery)
        camids = _numbered(cameras, first_camera, junk=None)
        first_pid = max(first_pid, int(pids.max(initial=0)) + 1)
        first_camera = int(camids.max(initial=0)) + 1
        columns = [_only(side, names, f"{len(queries)}:") for side in (query, gallery)]
        queries.append(Labels(pids[:cut], camids[:cut], columns[0]))
        galleries.append(Labels(pids[cut:], camids[cut:], columns[1]))
    return _stacked(queries, names), _stacked(galleries, names)


def _apart(query: Labels, gallery: Labels) -> NDArray[np.int64]:
    """Give each image, or each tracklet of a side, a number of its own."""
    parts = [
        np.unique(side.columns[_GROUPS], return_inverse=True)[1].reshape(-1)
        if _GROUPS in side.columns
        else np.arange(len(side))
        for side in (query, gallery)
    ]
    first = int(parts[0].max(initial=-1)) + 1
    return np.concatenate([parts[0], parts[1] + first]).astype(np.int64)


def _joinable(parts: Sequence[Labels]) -> set[str]:
    """Return the columns that all have, with as many values a row: others mean other things."""
    names = set.intersection(*(set(part.columns) for part in parts))
    return {name for name in names if len({part.columns[name].shape[1:] for part in parts}) == 1}


def _numbered(values: NDArray[np.int64], first: int, junk: int | None = _JUNK) -> NDArray[np.int64]:
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64) + first
    return codes if junk is None else np.where(values == junk, junk, codes)


def _only(labels: Labels, names: set[str], prefix: str) -> dict[str, NDArray[np.generic]]:
    """Return the columns that all sets have, with groups named apart by a prefix of the set."""
    columns = {name: labels.columns[name] for name in sorted(names)}
    if _GROUPS in columns:
        groups = [f"{prefix}{group}" for group in columns[_GROUPS].tolist()]
        columns[_GROUPS] = np.array(groups, dtype=np.str_)
    return columns


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
