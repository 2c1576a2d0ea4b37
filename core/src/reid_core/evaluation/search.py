"""A search: labels of queries and gallery, the distances between them, and the rule.

Everything that is measured (CMC and AP, verification, ranked galleries) is measured on these, so
that all of it is about the same comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import DataError
from reid_core.evaluation.distance import DistanceName, check_same_width
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.protocols import Prepared, Protocol, Trial
from reid_core.evaluation.rerankers import BlockSource, Reranker, check_chain, reranked

#: The column of labels that numbers the rows of a test set: its queries, then its gallery.
ROWS = "rows"


@dataclass(frozen=True, eq=False)
class Search:
    """Queries that search a gallery.

    Args:
        query: Labels of Q queries, with a column ``rows`` that numbers them in the test set.
        gallery: Labels of G gallery entries, with a column ``rows``.
        distances: Distances of a block of queries to all of the gallery.
        protocol: Which gallery entries count for a query.
        distance: Name of the distance.
        postprocessing: Descriptions of the rerankers, in the order in which they were applied.
        num_gallery: Gallery entries given, junk included.
    """

    query: Labels
    gallery: Labels
    distances: BlockSource
    protocol: Protocol
    distance: str
    postprocessing: tuple[str, ...] = field(default=())
    num_gallery: int = 0


def searches(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName,
    protocol: Protocol,
    rerankers: Sequence[Reranker] = (),
) -> Iterator[Search]:
    """Make the searches of a test set: one, or one a trial where the protocol draws.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: ``cosine`` or ``euclidean``.
        protocol: What is compared, and which gallery entries count.
        rerankers: What is done with embeddings or distances first.

    Yields:
        A search a trial; memory is that of one.

    Raises:
        DataError: Features differ in width or are not finite.
        UsageError: The distance has another name, or the rerankers another order.
    """
    check_same_width(query.features, gallery.features)
    check_finite(query.features, side="query")
    check_finite(gallery.features, side="gallery")
    check_chain(rerankers)
    prepared = _numbered(query, gallery, protocol)
    trials = protocol.trials(prepared.query.labels, prepared.gallery.labels)
    if trials is None:
        yield _search(prepared.query, prepared.gallery, distance, protocol, rerankers)
        return
    pool = _pool(prepared)
    for trial in trials:
        yield _search(
            _take(pool, trial.query), _take(pool, trial.gallery), distance, protocol, rerankers
        )


def number_rows(query: Labels, gallery: Labels) -> tuple[Labels, Labels]:
    """Give labels the column ``rows``: 0 to Q - 1 for queries, Q to Q + G - 1 for the gallery."""
    first = len(query)
    return (
        replace(query, columns={**query.columns, ROWS: np.arange(first)}),
        replace(gallery, columns={**gallery.columns, ROWS: np.arange(first, first + len(gallery))}),
    )


def pool_labels(query: Labels, gallery: Labels) -> Labels:
    """Put the labels of queries and gallery after one another, with the columns both have."""
    names = [name for name in query.columns if name in gallery.columns]
    return Labels(
        np.concatenate([query.pids, gallery.pids]),
        np.concatenate([query.camids, gallery.camids]),
        {name: np.concatenate([query.columns[name], gallery.columns[name]]) for name in names},
    )


def cut(query: Labels, gallery: Labels, trial: Trial) -> tuple[Labels, Labels]:
    """Return the labels of a trial's queries and gallery."""
    pool = pool_labels(query, gallery)
    return pool.take(trial.query), pool.take(trial.gallery)


def check_finite(features: Tensor, *, side: str) -> None:
    """Refuse features that a diverged model gives: they sort last and look like a low score.

    Args:
        features: (N, D) floating point.
        side: ``query`` or ``gallery``, for the message.

    Raises:
        DataError: A value is NaN or infinite, or a row is too long for float32.
    """
    # The norm shows every NaN and infinity, and makes no copy of the features.
    with torch.no_grad():
        norms = torch.linalg.vector_norm(features.float(), dim=1)
    bad_rows = torch.nonzero(~torch.isfinite(norms)).flatten()
    if not len(bad_rows):
        return
    num_values = int((~torch.isfinite(features[bad_rows])).sum())
    raise DataError(
        f"{side} embeddings: {len(bad_rows)} of {len(features)} rows are not finite in float32 "
        f"({num_values} values are NaN or infinite), the first is row {int(bad_rows[0])}; "
        "no score is given for them: the model has diverged or its input is damaged, so check the "
        "training loss, and in half precision the range of the activations"
    )


def _numbered(query: Embeddings, gallery: Embeddings, protocol: Protocol) -> Prepared:
    labels = number_rows(query.labels, gallery.labels)
    return protocol.prepare(
        *(
            replace(side, columns=numbered.columns)
            for side, numbered in zip((query, gallery), labels, strict=True)
        )
    )


def _search(
    query: Embeddings,
    gallery: Embeddings,
    distance: DistanceName,
    protocol: Protocol,
    rerankers: Sequence[Reranker],
) -> Search:
    num_gallery = len(gallery)
    if rerankers:
        is_ignored = protocol.ignored(gallery.labels)
        if is_ignored.any():
            gallery = _take(gallery, np.flatnonzero(~is_ignored))
    source = reranked(query.features, gallery.features, distance=distance, rerankers=rerankers)
    return Search(
        query=query.labels,
        gallery=gallery.labels,
        distances=source,
        protocol=protocol,
        distance=distance,
        postprocessing=tuple(reranker.description for reranker in rerankers),
        num_gallery=num_gallery,
    )


def _pool(prepared: Prepared) -> Embeddings:
    labels = pool_labels(prepared.query.labels, prepared.gallery.labels)
    features = torch.cat([prepared.query.features, prepared.gallery.features])
    return Embeddings(features, labels.pids, labels.camids, labels.columns)


def _take(embeddings: Embeddings, rows: NDArray[np.int64]) -> Embeddings:
    labels = embeddings.labels.take(rows)
    features = embeddings.features[torch.from_numpy(rows).to(embeddings.features.device)]
    return Embeddings(features, labels.pids, labels.camids, labels.columns)
