"""What a reranker is: it changes embeddings, or distances, with what the whole set shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distances.distance import DistanceName

#: Distances of the queries from one row up to, not including, another, to all of the gallery:
#: (B, G) float32 or float64.
BlockSource = Callable[[int, int], NDArray[np.float32] | NDArray[np.float64]]


@dataclass(frozen=True)
class Reranker(ABC):
    """A step after embedding and before the figures.

    A further one is a subclass of :class:`FeatureReranker` or :class:`DistanceReranker`, and an
    entry point of kind ``rerankers`` that names a function which returns an instance.

    Args:
        name: What a config calls it.
        description: What it does, with its parameters, in one line; printed beside every number.
    """

    name: str
    description: str

    @abstractmethod
    def needed_bytes(self, num_query: int, num_gallery: int, width: int) -> int:
        """Tell how much memory it adds at most, before anything is allocated.

        Args:
            num_query: Q.
            num_gallery: G.
            width: D, the length of an embedding.

        Returns:
            Bytes.
        """


@dataclass(frozen=True)
class FeatureReranker(Reranker):
    """A reranker that changes embeddings: query expansion, database augmentation, smoothing."""

    @abstractmethod
    def features(
        self, query: Tensor, gallery: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Change the embeddings.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by.

        Returns:
            (Q, D) and (G, D) float32; a side that is not changed is handed back as it is.
        """

    def features_once(
        self, query: Tensor, gallery: Tensor, places: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Change the embeddings where queries are in the gallery too (leave-one-out).

        No image may count twice. Here :meth:`features` is asked with the queries that are not in
        the gallery, often none, and the others take what their gallery entry became. A reranker
        that changes one side alone says here what is right for it.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            places: (Q,) int64 row of the gallery that each query is, -1 where it is none.
            distance: The distance that the set is compared by.

        Returns:
            (Q, D) and (G, D) float32.
        """
        is_only, places = (places < 0).to(query.device), places.to(gallery.device)
        only, changed = self.features(query[is_only], gallery, distance=distance)
        made = changed[places.clamp(min=0)].to(only.device)
        made[is_only.to(made.device)] = only.to(made.dtype)
        return made, changed


@dataclass(frozen=True)
class DistanceReranker(Reranker):
    """A reranker that changes distances; nothing can come after it."""

    @abstractmethod
    def distances(self, query: Tensor, gallery: Tensor, *, distance: DistanceName) -> BlockSource:
        """Make the changed distances, a block of queries at a time.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by.

        Returns:
            What gives the distances of a block of queries; the whole matrix never exists.
        """

    def distances_once(
        self, query: Tensor, gallery: Tensor, places: Tensor, *, distance: DistanceName
    ) -> BlockSource:
        """Make the changed distances where queries are in the gallery too (leave-one-out).

        No image may count twice; a reranker for which that cannot be is refused.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            places: (Q,) int64 row of the gallery that each query is, -1 where it is none.
            distance: The distance that the set is compared by.

        Returns:
            What gives the distances of a block of queries to all of the gallery.

        Raises:
            UsageError: The reranker does not say how.
        """
        raise UsageError(
            f"reranker {self.name}: queries of this protocol are in the gallery too, and it does "
            "not say how each image counts once (its method distances_once); choose another "
            "reranker, or another evaluate.protocol"
        )
