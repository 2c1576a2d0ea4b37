"""Ranked galleries of chosen queries, for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import UsageError
from reid_core.evaluation.blocks import block_bounds
from reid_core.evaluation.distance import DistanceName, GalleryDistance, check_same_width
from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.matches import MatchFinder
from reid_core.evaluation.protocols import Protocol
from reid_core.evaluation.search import check_finite


@dataclass(frozen=True, eq=False)
class TopMatches:
    """The nearest gallery entries of some queries, nearest first.

    Where fewer than k entries count for a query, the rest of its row is filled with row -1,
    distance NaN and False.

    Args:
        query_rows: (R,) int64 rows of the query set.
        gallery_rows: (R, k) int64 rows of the gallery.
        distances: (R, k) float32.
        is_match: (R, k) bool, whether the entry has the query's identity.
    """

    query_rows: NDArray[np.int64]
    gallery_rows: NDArray[np.int64]
    distances: NDArray[np.float32]
    is_match: NDArray[np.bool_]


def top_matches(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName = "cosine",
    protocol: Protocol,
    k: int = 10,
    rows: Sequence[int] | NDArray[np.int64],
) -> TopMatches:
    """Find the k nearest entries that count, for chosen queries.

    Entries at one distance are shown in the order of their gallery rows. Queries without a valid
    match are answered like any other.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
        protocol: Which gallery entries count for a query.
        k: Entries a query, at least 1.
        rows: R rows of the query set, in the order wanted.

    Returns:
        The ranked galleries, in the order of ``rows``.

    Raises:
        DataError: Features differ in width or are not finite.
        UsageError: ``k`` is below 1, or a row is not in the query set.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    query_rows = _checked_rows(rows, len(query))
    if k < 1:
        raise UsageError(f"k is {k}; expected the gallery entries a query, at least 1")
    check_same_width(query.features, gallery.features)
    chosen = query.features[query_rows.tolist()]
    check_finite(chosen, side="query")
    check_finite(gallery.features, side="gallery")
    labels = query.labels.take(query_rows)
    distances_to = GalleryDistance(gallery.features, metric=distance)
    finder = MatchFinder(gallery.labels, protocol=protocol)

    shape = (len(query_rows), k)
    gallery_rows = np.full(shape, -1, dtype=np.int64)
    distances = np.full(shape, np.nan, dtype=np.float32)
    for start, stop in block_bounds(len(query_rows), len(gallery)):
        block = distances_to(chosen[start:stop]).cpu().numpy()
        allowed, _ = finder.valid(labels.block(start, stop))
        for offset in range(stop - start):
            nearest = _nearest(block[offset], np.flatnonzero(allowed[offset]), k)
            gallery_rows[start + offset, : len(nearest)] = nearest
            distances[start + offset, : len(nearest)] = block[offset, nearest]
    is_match = gallery.labels.pids[gallery_rows] == labels.pids[:, None]
    return TopMatches(query_rows, gallery_rows, distances, is_match & (gallery_rows >= 0))


def _checked_rows(rows: Sequence[int] | NDArray[np.int64], num_query: int) -> NDArray[np.int64]:
    checked = np.asarray(rows, dtype=np.int64).reshape(-1)
    outside = checked[(checked < 0) | (checked >= num_query)]
    if outside.size:
        raise UsageError(
            f"query row {int(outside[0])} does not exist; expected 0 to {num_query - 1}"
        )
    return checked


def _nearest(
    distances: NDArray[np.float32], candidates: NDArray[np.intp], k: int
) -> NDArray[np.intp]:
    values = distances[candidates]
    if k < len(values):
        # All that tie with the k-th stay, so that the stable sort decides between them.
        near = values <= np.partition(values, k - 1)[k - 1]
        candidates, values = candidates[near], values[near]
    return candidates[np.argsort(values, kind="stable")[:k]]
