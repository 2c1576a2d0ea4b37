"""Several rerankers after one another, and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distances.distance import DistanceName, GalleryDistance
from reid_core.evaluation.rerankers.base import (
    BlockSource,
    DistanceReranker,
    FeatureReranker,
    Reranker,
)
from reid_core.evaluation.rerankers.checked import checked_distances, checked_features

#: Rows that are compared together.
COMPARED_ROWS = 2**12


def check_chain(rerankers: Sequence[Reranker]) -> None:
    """Refuse an order that cannot work.

    Args:
        rerankers: In the order in which they are applied.

    Raises:
        UsageError: One that changes distances is followed by another.
    """
    for position, reranker in enumerate(rerankers[:-1]):
        if isinstance(reranker, DistanceReranker):
            after = rerankers[position + 1].name
            raise UsageError(
                f"reranker {reranker.name} changes distances, so {after} cannot come after it; "
                f"put {reranker.name} last, and name only one of its kind"
            )


def reranked(
    query: Tensor,
    gallery: Tensor,
    *,
    distance: DistanceName,
    rerankers: Sequence[Reranker],
    places: Tensor | None = None,
) -> BlockSource:
    """Apply rerankers in the order given.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point, without junk.
        distance: The distance that the set is compared by.
        rerankers: Those that change embeddings, then at most one that changes distances; none is
            the plain distance.
        places: (Q,) int64 row of the gallery that each query is, -1 where it is none; None where
            no query is in the gallery. Each image counts once.

    Returns:
        What gives the distances of a block of queries.

    Raises:
        UsageError: The order cannot work, or a reranker cannot count each image once.
        PluginError: A reranker gives something else than it should.
    """
    check_chain(rerankers)
    for position, reranker in enumerate(rerankers):
        if places is not None and position:
            _require_one_form(query, gallery, places, rerankers[position - 1], reranker)
        if isinstance(reranker, DistanceReranker):
            return checked_distances(reranker, query, gallery, distance=distance, places=places)
        assert isinstance(reranker, FeatureReranker)
        query, gallery = checked_features(
            reranker, query, gallery, distance=distance, places=places
        )
    distances_to = GalleryDistance(gallery, metric=distance)
    return lambda start, stop: np.asarray(distances_to(query[start:stop]).cpu().numpy())


def _require_one_form(
    query: Tensor, gallery: Tensor, places: Tensor, before: Reranker, after: Reranker
) -> None:
    """Refuse to go on where an image is one thing as a query and another in the gallery."""
    rows = torch.nonzero(places >= 0).flatten()
    for part in torch.split(rows, COMPARED_ROWS):
        entries = gallery[places[part].to(gallery.device)]
        if not torch.equal(query[part.to(query.device)].to(entries), entries):
            raise UsageError(
                f"reranker {before.name} changes queries or gallery alone, and queries of this "
                f"protocol are in the gallery too, so {after.name} cannot count each image once "
                f"after it; name only one of them, or one before {after.name} that changes both"
            )
