"""Query expansion: a row becomes the mean of itself and its nearest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.distances.neighbours import nearest_rows
from reid_core.evaluation.rerankers.averages import available, averages, expansion_bytes
from reid_core.evaluation.rerankers.base import FeatureReranker
from reid_core.evaluation.rerankers.checks import check_alpha, check_count
from reid_core.evaluation.rerankers.joint import JointDistance

#: What is replaced: queries and gallery, by their nearest in both; or queries alone, by their
#: nearest in the gallery.
Expand = Literal["both", "query"]


@dataclass(frozen=True)
class QueryExpansion(FeatureReranker):
    """The expansion of :func:`aqe` and :func:`alpha_qe`.

    Args:
        name: What a config calls it.
        description: What it does in one line.
        k: Rows in a mean, the row itself among them.
        alpha: Exponent of the similarity.
        expand: What is replaced.
    """

    k: int = 5
    alpha: float = 3.0
    expand: Expand = "both"

    def needed_bytes(self, num_query: int, num_gallery: int, width: int) -> int:
        """Tell how much memory it adds at most."""
        num_changed = num_query if self.expand == "query" else num_query + num_gallery
        num_rows = num_query + num_gallery
        return expansion_bytes(num_changed, num_rows, width, k=self.k, tables=1)

    def features(
        self, query: Tensor, gallery: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Replace each row by the mean of its nearest.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by.

        Returns:
            (Q, D) float32, and (G, D) float32 or the gallery as it is.
        """
        if self.expand == "query":
            return self._queries(query, gallery, distance), gallery
        rows = JointDistance(query, gallery, metric=distance)
        near = rows.nearest(available(self.name, self.k, rows.num_rows)).columns

        def gather(wanted: Tensor) -> Tensor:
            return rows.features(wanted.to(gallery.device))

        return (
            averages(query, near[: len(query)], gather, alpha=self.alpha, metric=distance),
            averages(gallery, near[len(query) :], gather, alpha=self.alpha, metric=distance),
        )

    def features_once(
        self, query: Tensor, gallery: Tensor, places: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Replace each row by the mean of its nearest, where queries are in the gallery too.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            places: (Q,) int64 row of the gallery that each query is, -1 where it is none.
            distance: The distance that the set is compared by.

        Returns:
            (Q, D) float32, and (G, D) float32 or the gallery as it is.
        """
        if self.expand == "both":
            return super().features_once(query, gallery, places, distance=distance)
        is_only = (places < 0).to(query.device)
        made = torch.empty(tuple(query.shape), device=query.device)
        if is_only.any():
            made[is_only] = self._queries(query[is_only], gallery, distance).float()
        # The gallery holds these themselves.
        inside = query[~is_only]
        k = available(self.name, self.k, len(gallery))
        near = nearest_rows(inside, gallery, k=k, metric=distance).columns

        def gather(wanted: Tensor) -> Tensor:
            return torch.as_tensor(gallery[wanted.to(gallery.device)])

        made[~is_only] = averages(inside, near, gather, alpha=self.alpha, metric=distance)
        return made, gallery

    def _queries(self, query: Tensor, gallery: Tensor, distance: DistanceName) -> Tensor:
        num_others = available(self.name, self.k, len(gallery) + 1) - 1
        if not num_others:
            return query
        near = nearest_rows(query, gallery, k=num_others, metric=distance).columns

        def gather(wanted: Tensor) -> Tensor:
            return torch.as_tensor(gallery[wanted.to(gallery.device)])

        return averages(query, near, gather, alpha=self.alpha, metric=distance, with_row=True)


def aqe(*, k: int = 5, expand: Expand = "both") -> FeatureReranker:
    """Return average query expansion: each row becomes the plain mean of its nearest.

    Args:
        k: Rows in a mean, the row itself among them, at least 1; 1 changes nothing.
        expand: ``both`` replaces queries and gallery, by their nearest in both; ``query`` replaces
            queries alone, by their nearest in the gallery, as published.

    Returns:
        The reranker.

    Raises:
        ConfigError: A parameter is out of range.

    Source: Chum, Philbin, Sivic, Isard and Zisserman, Total Recall, ICCV 2007.
    """
    return _expansion("aqe", "average query expansion", k=k, alpha=0.0, expand=expand)


def alpha_qe(*, k: int = 5, alpha: float = 3.0, expand: Expand = "both") -> FeatureReranker:
    """Return alpha query expansion: near rows weigh more in the mean.

    A row at the angle θ weighs max(0, cos θ)^alpha.

    Args:
        k: Rows in a mean, the row itself among them, at least 1; 1 changes nothing.
        alpha: Exponent, 0 or more; 0 is :func:`aqe`.
        expand: ``both`` replaces queries and gallery, by their nearest in both; ``query`` replaces
            queries alone, by their nearest in the gallery, as published.

    Returns:
        The reranker.

    Raises:
        ConfigError: A parameter is out of range.

    Source: Radenović, Tolias and Chum, Fine-tuning CNN Image Retrieval with No Human Annotation,
    TPAMI 2019, section 3.2.
    """
    check_alpha("alpha_qe", alpha)
    title = f"alpha query expansion (alpha {alpha:g})"
    return _expansion("alpha_qe", title, k=k, alpha=alpha, expand=expand)


def _expansion(name: str, title: str, *, k: int, alpha: float, expand: Expand) -> QueryExpansion:
    check_count(name, "k", k)
    if expand not in get_args(Expand):
        raise ConfigError(f"{name}: expand is {expand!r}; expected one of {get_args(Expand)}")
    sides = "queries and gallery" if expand == "both" else "queries"
    return QueryExpansion(
        name=name,
        description=f"{title} of {sides} by the {k} nearest",
        k=k,
        alpha=alpha,
        expand=expand,
    )
