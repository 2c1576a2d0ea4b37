"""Searches over a matrix of distances that exists already."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reid_core.errors import UsageError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.matches import Distances
from reid_core.evaluation.plan import (
    ROWS,
    checked_trials,
    cut,
    entries_of,
    number_rows,
    prepared_labels,
)
from reid_core.evaluation.protocols import Protocol, Trial
from reid_core.evaluation.rerankers import BlockSource
from reid_core.evaluation.search import Search, nearest_of_entries


def given_searches(
    matrix: Distances, query: Labels, gallery: Labels, *, protocol: Protocol, distance: str
) -> Iterator[Search]:
    """Make the searches of a test set from the distances of its queries to its gallery.

    Args:
        matrix: (Q, G) distances.
        query: Labels of the Q queries.
        gallery: Labels of the G gallery entries.
        protocol: What is compared, and which gallery entries count.
        distance: What the distances are called.

    Yields:
        A search a trial.

    Raises:
        UsageError: The protocol joins embeddings, or compares queries with each other.
        PluginError: The protocol answers wrongly.
    """
    _require_plain(query, gallery, protocol)
    query, gallery = number_rows(query, gallery)
    trials = checked_trials(query, gallery, protocol)
    if trials is None:
        yield _search(lambda start, stop: matrix[start:stop], query, gallery, protocol, distance)
        return
    for number, trial in enumerate(trials):
        asked, searched = cut(query, gallery, trial)
        source = _part(matrix, trial, protocol)
        yield _search(source, asked, searched, protocol, distance, trial=number)


def _search(
    source: BlockSource,
    query: Labels,
    gallery: Labels,
    protocol: Protocol,
    distance: str,
    trial: int | None = None,
) -> Search:
    entries = entries_of(gallery, protocol)
    return Search(
        query=query,
        gallery=gallery if entries is None else gallery.take(entries.first),
        distances=source if entries is None else nearest_of_entries(source, entries),
        protocol=protocol,
        distance=distance,
        num_gallery=len(gallery),
        trial=trial,
    )


def _require_plain(query: Labels, gallery: Labels, protocol: Protocol) -> None:
    """Refuse a protocol that makes new embeddings: their distances are not in the matrix."""
    if type(protocol).prepare is Protocol.prepare:
        return
    ready = prepared_labels(query, gallery, protocol)
    rows = np.concatenate([ready.query.labels.columns[ROWS], ready.gallery.labels.columns[ROWS]])
    if not np.array_equal(rows, np.arange(len(query) + len(gallery))):
        raise UsageError(
            f"protocol {protocol.name} joins embeddings before it compares them, and distances of "
            f"single images do not tell what comes of it ({protocol.description}); expected "
            "embeddings: call evaluate_retrieval"
        )


def _part(matrix: Distances, trial: Trial, protocol: Protocol) -> BlockSource:
    num_query = len(matrix)
    columns = trial.gallery - num_query
    if (trial.query >= num_query).any() or (columns < 0).any():
        raise UsageError(
            f"protocol {protocol.name} compares queries with each other, or gallery entries "
            f"({protocol.description}), and a matrix of queries by gallery entries does not hold "
            "those distances; expected embeddings: call evaluate_retrieval"
        )
    return lambda start, stop: matrix[np.ix_(trial.query[start:stop], columns)]
