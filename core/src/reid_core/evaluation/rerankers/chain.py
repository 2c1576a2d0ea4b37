"""Several rerankers after one another, and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distance import DistanceName, GalleryDistance
from reid_core.evaluation.rerankers.base import (
    BlockSource,
    DistanceReranker,
    FeatureReranker,
    Reranker,
)


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
    query: Tensor, gallery: Tensor, *, distance: DistanceName, rerankers: Sequence[Reranker]
) -> BlockSource:
    """Apply rerankers in the order given.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point, without junk.
        distance: The distance that the set is compared by.
        rerankers: Those that change embeddings, then at most one that changes distances; none is
            the plain distance.

    Returns:
        What gives the distances of a block of queries.

    Raises:
        UsageError: The order cannot work.
    """
    check_chain(rerankers)
    for reranker in rerankers:
        if isinstance(reranker, DistanceReranker):
            return reranker.distances(query, gallery, distance=distance)
        assert isinstance(reranker, FeatureReranker)
        query, gallery = reranker.features(query, gallery, distance=distance)
    distances_to = GalleryDistance(gallery, metric=distance)
    return lambda start, stop: np.asarray(distances_to(query[start:stop]).cpu().numpy())
