"""Database augmentation: a gallery entry becomes the mean of itself and its nearest."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.distances.neighbours import nearest_rows
from reid_core.evaluation.rerankers.averages import available, averages, expansion_bytes
from reid_core.evaluation.rerankers.base import FeatureReranker
from reid_core.evaluation.rerankers.checks import check_alpha, check_count


@dataclass(frozen=True)
class DatabaseAugmentation(FeatureReranker):
    """The augmentation of :func:`dba`.

    Args:
        name: What a config calls it.
        description: What it does in one line.
        k: Entries in a mean, the entry itself among them.
        alpha: Exponent of the similarity.
    """

    k: int = 5
    alpha: float = 0.0

    def needed_bytes(self, num_query: int, num_gallery: int, width: int) -> int:
        """Tell how much memory it adds at most."""
        del num_query
        return expansion_bytes(num_gallery, num_gallery, width, k=self.k, tables=1)

    def features(
        self, query: Tensor, gallery: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Replace each gallery entry by the mean of its nearest in the gallery.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by.

        Returns:
            The queries as they are, and (G, D) float32.
        """
        return query, self._augmented(gallery, distance)

    def features_once(
        self, query: Tensor, gallery: Tensor, places: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Do the same: queries stay, and only the gallery is looked at."""
        del places
        return self.features(query, gallery, distance=distance)

    def _augmented(self, gallery: Tensor, distance: DistanceName) -> Tensor:
        k = available(self.name, self.k, len(gallery))
        near = nearest_rows(gallery, gallery, k=k, metric=distance).columns

        def gather(wanted: Tensor) -> Tensor:
            return torch.as_tensor(gallery[wanted.to(gallery.device)])

        return averages(gallery, near, gather, alpha=self.alpha, metric=distance)


def dba(*, k: int = 5, alpha: float = 0.0) -> FeatureReranker:
    """Return database augmentation: each gallery entry becomes the mean of its nearest.

    Queries stay, so that it can be done once for a gallery that is searched many times.

    Args:
        k: Entries in a mean, the entry itself among them, at least 1; 1 changes nothing.
        alpha: An entry at the angle θ weighs max(0, cos θ)^alpha; 0 or more, 0 is the plain mean.

    Returns:
        The reranker.

    Raises:
        ConfigError: A parameter is out of range.

    Source: Turcot and Lowe, Better Matching with Fewer Features, ICCV workshops 2009;
    Arandjelović and Zisserman, Three Things Everyone Should Know to Improve Object Retrieval,
    CVPR 2012.
    """
    check_count("dba", "k", k)
    check_alpha("dba", alpha)
    weights = f", alpha {alpha:g}" if alpha else ""
    return DatabaseAugmentation(
        name="dba",
        description=f"database augmentation by the {k} nearest{weights}",
        k=k,
        alpha=alpha,
    )
