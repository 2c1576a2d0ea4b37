"""Ranked galleries of chosen queries, for people to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.distances.distance import DistanceName, GalleryDistance, check_same_width
from reid_core.evaluation.distances.nearest import Backend, Nearest, nearest
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.matches import Distances, MatchFinder
from reid_core.evaluation.protocols import Protocol
from reid_core.evaluation.search import Search, check_finite, number_rows


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
    backend: Backend = "exact",
) -> TopMatches:
    """Find the k nearest entries that count, for chosen queries.

    Entries at one distance are shown in the order of their gallery rows. Queries without a valid
    match are answered like any other. A protocol that prepares, cuts or groups images asks for
    :func:`top_matches_of`.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
        protocol: Which gallery entries count for a query.
        k: Entries a query, at least 1.
        rows: R rows of the query set, in the order wanted.
        backend: What searches, see :func:`nearest`. ``faiss`` is asked for more until k entries
            that count are found.

    Returns:
        The ranked galleries, in the order of ``rows``.

    Raises:
        DataError: Features differ in width or are not finite, or FAISS is not installed.
        UsageError: ``k`` is below 1, a row is not in the query set, ``backend`` is not known, or
            the protocol does not compare image by image.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    query_rows = _checked_rows(rows, len(query))
    _check_k(k)
    _require_images(query.labels, gallery.labels, protocol)
    check_same_width(query.features, gallery.features)
    chosen = query.features[query_rows.tolist()]
    check_finite(chosen, side="query")
    check_finite(gallery.features, side="gallery")
    labels = query.labels.take(query_rows)
    if backend != "exact" and len(gallery):
        search = partial(nearest, gallery=gallery.features, distance=distance, backend=backend)
        found = _found(chosen, search, labels, gallery.labels, protocol, k)
    else:
        distances_to = GalleryDistance(gallery.features, metric=distance)
        blocks = block_bounds(len(query_rows), len(gallery))
        found = _ranked(
            (
                (distances_to(chosen[start:stop]).cpu().numpy(), labels.block(start, stop))
                for start, stop in blocks
            ),
            MatchFinder(gallery.labels, protocol=protocol),
            k,
        )
    return _top_matches(query_rows, labels, gallery.labels, found)


def top_matches_of(
    search: Search, *, k: int = 10, rows: Sequence[int] | NDArray[np.int64]
) -> TopMatches:
    """Find the k nearest entries that count in a search, for example a re-ranked one.

    Args:
        search: Labels, distances and the rule.
        k: Entries a query, at least 1.
        rows: R rows of the search's queries, in the order wanted. Neighbouring rows are computed
            together.

    Returns:
        The ranked galleries, in the order of ``rows``; gallery rows are those of the search, whose
        column ``rows`` says which of the test set they are.

    Raises:
        UsageError: ``k`` is below 1, or a row is not in the query set.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    query_rows = _checked_rows(rows, len(search.query))
    _check_k(k)
    labels = search.query.take(query_rows)
    found = _ranked(
        (
            (search.distances(start, stop), search.query.block(start, stop))
            for start, stop in _runs(query_rows, len(search.gallery))
        ),
        MatchFinder(search.gallery, protocol=search.protocol),
        k,
    )
    return _top_matches(query_rows, labels, search.gallery, found)


def _require_images(query: Labels, gallery: Labels, protocol: Protocol) -> None:
    """Refuse a protocol that makes something else of the sets before it compares them."""
    labels = number_rows(query, gallery)
    does = {
        "prepares what is compared": type(protocol).prepare is not Protocol.prepare,
        "cuts the set": protocol.pools or protocol.trials(*labels) is not None,
        "groups the gallery": protocol.grouped(labels[1]) is not None,
    }
    found = [what for what, is_so in does.items() if is_so]
    if found:
        raise UsageError(
            f"top_matches: protocol {protocol.name} {' and '.join(found)}, so the rows of the sets "
            "given are not what it compares; take its searches, and ask top_matches_of(search)"
        )


def _top_matches(
    query_rows: NDArray[np.int64], query: Labels, gallery: Labels, found: Nearest
) -> TopMatches:
    is_there = found.rows >= 0
    is_match = np.zeros(found.rows.shape, dtype=bool)
    query_pids = np.broadcast_to(query.pids[:, None], found.rows.shape)
    is_match[is_there] = gallery.pids[found.rows[is_there]] == query_pids[is_there]
    return TopMatches(query_rows, found.rows, found.distances, is_match)


def _ranked(blocks: Iterable[tuple[Distances, Labels]], finder: MatchFinder, k: int) -> Nearest:
    parts = [_empty(0, k)]
    for distances, labels in blocks:
        allowed, _ = finder.valid(labels)
        part = _empty(len(labels), k)
        for row, values in enumerate(distances):
            near = nearest_of(values, np.flatnonzero(allowed[row]), k)
            part.rows[row, : len(near)] = near
            part.distances[row, : len(near)] = values[near]
        parts.append(part)
    return Nearest(
        np.concatenate([part.distances for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def _found(
    features: Tensor,
    search: Callable[..., Nearest],
    query: Labels,
    gallery: Labels,
    protocol: Protocol,
    k: int,
) -> Nearest:
    """Ask for more and more rows, until k of them count."""
    finder = MatchFinder(gallery, protocol=protocol)
    found = _empty(len(query), k)
    waiting, asked = np.arange(len(query)), min(2 * k, len(gallery))
    while len(waiting):
        candidates = search(features[waiting.tolist()], k=asked)
        counts = np.concatenate(
            [
                np.take_along_axis(
                    finder.valid(query.take(waiting[a:b]))[0], candidates.rows[a:b], 1
                )
                for a, b in block_bounds(len(waiting), len(gallery))
            ]
        )
        is_done = (counts.sum(axis=1) >= k) | (asked == len(gallery))
        for place in np.flatnonzero(is_done):
            kept = np.flatnonzero(counts[place])[:k]
            found.rows[waiting[place], : len(kept)] = candidates.rows[place, kept]
            found.distances[waiting[place], : len(kept)] = candidates.distances[place, kept]
        waiting, asked = waiting[~is_done], min(4 * asked, len(gallery))
    return found


def _empty(size: int, k: int) -> Nearest:
    return Nearest(
        np.full((size, k), np.nan, dtype=np.float32), np.full((size, k), -1, dtype=np.int64)
    )


def _runs(rows: NDArray[np.int64], num_gallery: int) -> list[tuple[int, int]]:
    """Cut rows where they do not follow each other, and into blocks."""
    runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
    return [
        (int(run[0]) + start, int(run[0]) + stop)
        for run in runs
        for start, stop in block_bounds(len(run), num_gallery)
    ]


def _check_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k is {k}; expected the gallery entries a query, at least 1")


def _checked_rows(rows: Sequence[int] | NDArray[np.int64], num_query: int) -> NDArray[np.int64]:
    checked = np.asarray(rows, dtype=np.int64).reshape(-1)
    outside = checked[(checked < 0) | (checked >= num_query)]
    if outside.size:
        raise UsageError(
            f"query row {int(outside[0])} does not exist; expected 0 to {num_query - 1}"
        )
    return checked


def nearest_of(distances: Distances, candidates: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Choose the k nearest of some entries; of those at one distance the first.

    Args:
        distances: (G,) float32 or float64.
        candidates: (C,) rows of the entries that count, in ascending order.
        k: At least 1.

    Returns:
        (min(k, C),) rows, nearest first.
    """
    values = distances[candidates]
    if k < len(values):
        # All that tie with the k-th stay, so that the stable sort decides between them.
        near = values <= np.partition(values, k - 1)[k - 1]
        candidates, values = candidates[near], values[near]
    return candidates[np.argsort(values, kind="stable")[:k]]
