"""A search: labels of queries and gallery, the distances between them, and the rule.

Everything that is measured (CMC and AP, verification, ranked galleries) is measured on these, so
that all of it is about the same comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import DataError
from reid_core.evaluation.distances.distance import DistanceName, check_same_width
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.plan import (
    ROWS,
    Entries,
    checked_trials,
    cut,
    entries_of,
    number_rows,
    pool_labels,
    prepared,
)
from reid_core.evaluation.protocols import Prepared, Protocol
from reid_core.evaluation.rerankers import BlockSource, Reranker, check_chain, reranked

__all__ = [
    "ROWS",
    "Search",
    "check_finite",
    "cut",
    "non_finite_rows",
    "number_rows",
    "pool_labels",
    "searches",
]

#: Rows that are looked at together: half precision is converted for it.
CHECKED_ROWS = 2**13
#: Where no value is as large, squares of float32 have lost their digits or are 0.
LEAST_VALUE = 1e-15


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
        trial: Number of the trial, from 0; None where the protocol has none.
    """

    query: Labels
    gallery: Labels
    distances: BlockSource
    protocol: Protocol
    distance: str
    postprocessing: tuple[str, ...] = field(default=())
    num_gallery: int = 0
    trial: int | None = None


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
        DataError: Features differ in width, are not finite or too small for euclidean distances,
            the labels lack a column that the protocol reads, or images that it takes for one
            differ in identity or camera.
        UsageError: The distance has another name, or the rerankers another order.
        PluginError: The protocol answers wrongly, or lets a row search itself.
    """
    check_same_width(query.features, gallery.features)
    check_finite(query.features, side="query")
    check_finite(gallery.features, side="gallery")
    if distance == "euclidean":
        check_not_tiny(query.features, gallery.features)
    check_chain(rerankers)
    ready = prepared(query, gallery, protocol)
    trials = checked_trials(ready.query.labels, ready.gallery.labels, protocol)
    if trials is None:
        yield _search(ready.query, ready.gallery, distance, protocol, rerankers)
        return
    pool = _pool(ready)
    for number, trial in enumerate(trials):
        sides = _take(pool, trial.query), _take(pool, trial.gallery)
        yield _search(*sides, distance, protocol, rerankers, trial=number)


def non_finite_rows(features: Tensor) -> Tensor:
    """Find the rows that are not finite in float32.

    Args:
        features: (N, D) floating point.

    Returns:
        (B,) int64 rows with a NaN or infinite value, or too long for float32, in ascending order.
    """
    # The norm shows every NaN and infinity, and makes no copy of the features.
    with torch.no_grad():
        norms = [
            torch.linalg.vector_norm(part.float(), dim=1)
            for part in torch.split(features, CHECKED_ROWS)
        ]
    return torch.nonzero(~torch.isfinite(torch.cat(norms))).flatten()


def check_finite(features: Tensor, *, side: str) -> None:
    """Refuse features that a diverged model gives: they sort last and look like a low score.

    Args:
        features: (N, D) floating point.
        side: ``query`` or ``gallery``, for the message.

    Raises:
        DataError: A value is NaN or infinite, or a row is too long for float32.
    """
    bad_rows = non_finite_rows(features)
    if not len(bad_rows):
        return
    num_values = int((~torch.isfinite(features[bad_rows])).sum())
    raise DataError(
        f"{side} embeddings: {len(bad_rows)} of {len(features)} rows are not finite in float32 "
        f"({num_values} values are NaN or infinite), the first is row {int(bad_rows[0])}; "
        "no score is given for them: the model has diverged or its input is damaged, so check the "
        "training loss, and in half precision the range of the activations"
    )


def check_not_tiny(query: Tensor, gallery: Tensor) -> None:
    """Refuse features whose euclidean distances would all be 0, because their squares underflow.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point.

    Raises:
        DataError: All values are that small, and not all are 0.
    """
    largest = max(_largest(side) for side in (query, gallery))
    if 0 < largest < LEAST_VALUE:
        raise DataError(
            f"embeddings: the largest value is {largest:.1e}, whose square is 0 in float32, so all "
            "euclidean distances would be; expected larger ones: multiply both sides by one "
            "number, or set evaluate.distance to cosine"
        )


def _largest(features: Tensor) -> float:
    parts = torch.split(features, CHECKED_ROWS)
    return max((float(p.abs().max()) for p in parts if p.numel()), default=0.0)


def nearest_of_entries(source: BlockSource, entries: Entries) -> BlockSource:
    """Make distances to images distances to entries: the smallest of each entry's images.

    Args:
        source: Distances of a block of queries to G images.
        entries: E groups of the images.

    Returns:
        Distances of a block of queries to E entries.
    """

    def block(start: int, stop: int) -> NDArray[np.float32] | NDArray[np.float64]:
        return np.minimum.reduceat(source(start, stop)[:, entries.order], entries.starts, axis=1)

    return source if not len(entries.order) else block


def _search(
    query: Embeddings,
    gallery: Embeddings,
    distance: DistanceName,
    protocol: Protocol,
    rerankers: Sequence[Reranker],
    trial: int | None = None,
) -> Search:
    num_gallery = len(gallery)
    if rerankers:
        is_ignored = protocol.ignored(gallery.labels)
        if is_ignored.any():
            gallery = _take(gallery, np.flatnonzero(~is_ignored))
    source = reranked(
        query.features,
        gallery.features,
        distance=distance,
        rerankers=rerankers,
        places=None if trial is None else _places(query.labels, gallery.labels),
    )
    entries = entries_of(gallery.labels, protocol)
    if entries is not None:
        source = nearest_of_entries(source, entries)
    return Search(
        query=query.labels,
        gallery=gallery.labels if entries is None else gallery.labels.take(entries.first),
        distances=source,
        protocol=protocol,
        distance=distance,
        postprocessing=tuple(reranker.description for reranker in rerankers),
        num_gallery=num_gallery,
        trial=trial,
    )


def _places(query: Labels, gallery: Labels) -> Tensor | None:
    """Find the queries that are in the gallery too: they are one image, whatever is reranked."""
    _, asked, searched = np.intersect1d(
        query.columns[ROWS], gallery.columns[ROWS], return_indices=True
    )
    places = np.full(len(query), -1, dtype=np.int64)
    places[asked] = searched
    return torch.from_numpy(places) if len(asked) else None


def _pool(ready: Prepared) -> Embeddings:
    labels = pool_labels(ready.query.labels, ready.gallery.labels)
    sides = [side.features for side in (ready.query, ready.gallery) if len(side)]
    features = torch.cat(sides) if len(sides) == 2 else (sides or [ready.gallery.features])[0]
    return Embeddings(features, labels.pids, labels.camids, labels.columns)


def _take(embeddings: Embeddings, rows: NDArray[np.int64]) -> Embeddings:
    if np.array_equal(rows, np.arange(len(embeddings))):
        return embeddings  # leave-one-out takes all of a pool twice
    labels = embeddings.labels.take(rows)
    features = embeddings.features[torch.from_numpy(rows).to(embeddings.features.device)]
    return Embeddings(features, labels.pids, labels.camids, labels.columns)
