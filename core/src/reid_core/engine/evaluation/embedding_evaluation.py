"""Figures of embeddings that are in a file, without a model."""

from __future__ import annotations

import logging
from pathlib import Path

from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.engine.check import check_config
from reid_core.engine.evaluation.config import evaluation_config
from reid_core.engine.evaluation.evaluated_set import EvaluatedSet
from reid_core.engine.evaluation.measurement import measure_embeddings
from reid_core.engine.evaluation.parts import build_protocol, build_rerankers
from reid_core.engine.evaluation.protocol_choice import protocol_for
from reid_core.engine.results import Evaluation
from reid_core.errors import DataError, UsageError
from reid_core.evaluation import Protocol
from reid_core.evaluation.embeddings import MissingColumnError
from reid_core.evaluation.files.embedding_set import EmbeddingSet
from reid_core.evaluation.protocols.base import DISTRACTORS
from reid_core.plugins.index import disabled_plugins

log = logging.getLogger("reid_core")

#: The settings that embeddings leave open.
OPEN_SETTINGS = (
    "evaluate.protocol",
    "evaluate.distance",
    "evaluate.rerank",
    "evaluate.details",
    "plugins.",
    "seed",
    "device",
)
#: What is said where it is not known whether pid 0 is somebody.
ZERO_CAVEAT = (
    "pid 0 is taken for an identity; if it marks distractors, give the columns "
    "query_distractors and gallery_distractors"
)


def embedding_config(overrides: list[str]) -> Config:
    """Return a configuration that says how embeddings are evaluated.

    Args:
        overrides: Settings as on the command line.

    Raises:
        UsageError: A setting is about how embeddings are made: these are made already.
        ConfigError: A setting is wrong.
    """
    for text in overrides:
        key = text.partition("=")[0].strip()
        if not any(f"{key}.".startswith(f"{open_.rstrip('.')}.") for open_ in OPEN_SETTINGS):
            raise UsageError(
                f"--set {text}: the embeddings are made already, so {key} changes nothing; with "
                "--embeddings only evaluate.protocol, evaluate.distance and evaluate.rerank can "
                "be set"
            )
    return config_from_plain({}, overrides, source="the defaults")


def evaluate_embeddings(embeddings: EmbeddingSet, config: Config, *, weights: str) -> EvaluatedSet:
    """Evaluate a set of embeddings.

    Args:
        embeddings: The set.
        config: Protocol, distance, rerankers.
        weights: What the embeddings come from, for the record.

    Returns:
        The figures, and what they were made from.

    Raises:
        DataError: A side is empty that the protocol needs, or no query has a valid match.
        ConfigError: A parameter does not fit.
        PluginError: A component is missing.
    """
    with disabled_plugins(config.plugins.disable):
        check_config(evaluation_config(config))
        protocol = protocol_for(
            build_protocol(config), has_cameras=embeddings.has_cameras, what=embeddings.name
        )
        rerankers = tuple(build_rerankers(config))
    _require_sides(embeddings, protocol)
    caveats = zero_caveats(embeddings, protocol)
    for caveat in caveats:
        log.warning("%s: %s", embeddings.name, caveat)
    distance = config.evaluate.distance
    try:
        measured = measure_embeddings(
            embeddings.query,
            embeddings.gallery,
            distance=distance,
            protocol=protocol,
            rerankers=rerankers,
        )
    except MissingColumnError as error:
        column = error.column
        raise DataError(
            f"{embeddings.name}, protocol {protocol.name}: {error}; in an .npz file it is "
            f"query_{column} and gallery_{column}, in a .parquet file a column {column}"
        ) from error
    evaluations = tuple(
        Evaluation.of(embeddings.name, result, step=0, epoch=0.0, weights=weights, caveats=caveats)
        for result in measured.results
    )
    return EvaluatedSet(
        embeddings,
        protocol,
        distance,
        rerankers,
        measured.results,
        evaluations,
        embeddings.describe,
        measured.search,
    )


def zero_caveats(embeddings: EmbeddingSet, protocol: Protocol) -> list[str]:
    """Say that pid 0 is searched for like anybody, where that changes figures.

    Market-1501 calls people that nobody looks for 0; other sets number identities from 0. A file of
    integers tells which by its column ``distractors`` alone.

    Args:
        embeddings: The set.
        protocol: What is compared.

    Returns:
        One caveat, or none.
    """
    if not (protocol.pools or protocol.scoring == "single_shot"):
        return []
    is_open = any(
        (side.labels.pids == 0).any() and DISTRACTORS not in side.columns
        for side in (embeddings.query, embeddings.gallery)
    )
    return [ZERO_CAVEAT] * is_open


def weights_label(path: Path) -> str:
    """Return what records call the source of embeddings from a file."""
    return f"embeddings {path.name}"


def _require_sides(embeddings: EmbeddingSet, protocol: Protocol) -> None:
    for side, part in (("query", embeddings.query), ("gallery", embeddings.gallery)):
        if not len(part) and not protocol.pools:
            raise DataError(
                f"{embeddings.name} has no {side} rows, and protocol {protocol.name} needs them; "
                "give each row a split, query or gallery, or search all rows with all others by "
                "--protocol leave_one_out"
            )
