"""Queries and gallery as one list of rows, and the distances among them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation.distances.distance import (
    COSINE_FLOOR,
    DistanceName,
    GalleryDistance,
    row_norms,
)
from reid_core.evaluation.distances.neighbours import Neighbours, nearest_in_blocks

#: Values of one side that a step of :meth:`JointDistance.pairs` gathers, 8 MB of float32.
PAIR_VALUES = 2**21
#: Rows whose lengths are computed together.
NORM_ROWS = 2**13


class JointDistance:
    """Distances among queries and gallery, which are numbered 0..Q-1 and Q..Q+G-1.

    The two are never put into one table: that would copy all features.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point; products run where it is.
        metric: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
    """

    def __init__(self, query: Tensor, gallery: Tensor, *, metric: DistanceName) -> None:
        self._query = query.detach().to(gallery.device)
        self._gallery = gallery.detach()
        self._metric = metric
        self._to_gallery = GalleryDistance(self._gallery, metric=metric)
        # One origin, so that equal rows of both sides are tied, and the order of rows decides.
        origin = self._to_gallery.origin
        self._to_query = GalleryDistance(self._query, metric=metric, origin=origin)
        self.num_query = int(query.shape[0])
        self.num_rows = self.num_query + int(gallery.shape[0])

    def features(self, rows: Tensor) -> Tensor:
        """Gather rows.

        Args:
            rows: (B,) int64 on the gallery's device.

        Returns:
            (B, D) float32, a copy.
        """
        is_query = rows < self.num_query
        if not self.num_query or not is_query.any():
            return self._gallery[rows - self.num_query].float()
        gathered = self._query[rows.clamp(max=self.num_query - 1)].float()
        others = torch.nonzero(~is_query).flatten()
        gathered[others] = self._gallery[rows[others] - self.num_query].float()
        return gathered

    def parts(self, start: int, stop: int) -> Iterator[Tensor]:
        """Compute the distances of some rows to all, first to the queries, then to the gallery.

        Args:
            start: First row.
            stop: Row after the last.

        Yields:
            (B, Q) and (B, G) float32 on the gallery's device.
        """
        rows = self._slice(start, stop)
        if self.num_query:
            yield self._to_query(rows)
        if self.num_query < self.num_rows:
            yield self._to_gallery(rows)

    def to_gallery(self, rows: Tensor) -> NDArray[np.float32]:
        """Compute the distances of some rows to the gallery.

        Args:
            rows: (B, D) features.

        Returns:
            (B, G) float32.
        """
        return np.asarray(self._to_gallery(rows).cpu().numpy())

    def nearest(self, k: int, *, block_size: int | None = None) -> Neighbours:
        """Find the k nearest rows of each row, itself among them.

        Args:
            k: 1 to N.
            block_size: Rows a block; None chooses one.

        Returns:
            N rows of k neighbours.
        """
        shape = (self.num_rows, self.num_rows)
        return nearest_in_blocks(self.parts, shape, k=k, block_size=block_size)

    def pairs(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute the distances of pairs of rows.

        Args:
            first: (P,) rows.
            second: (P,) rows.

        Returns:
            (P,) float32.
        """
        distances = np.empty(len(first), dtype=np.float32)
        step = max(1, PAIR_VALUES // max(1, int(self._gallery.shape[1])))
        device = self._gallery.device
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            one, two = (torch.from_numpy(side[part]).to(device) for side in (first, second))
            distances[part] = self._paired(one, two).cpu().numpy()
        return distances

    def _paired(self, first: Tensor, second: Tensor) -> Tensor:
        one, two = self.features(first), self.features(second)
        if self._metric == "euclidean":
            apart: Tensor = torch.linalg.vector_norm(one.sub_(two), dim=1)
            return apart
        # Each side is made a unit vector by itself: the product of two small norms underflows.
        one /= self._norms[first][:, None]
        two /= self._norms[second][:, None]
        cosine: Tensor = torch.einsum("bd,bd->b", one, two)
        return torch.threshold_(1 - cosine, COSINE_FLOOR, 0.0)

    @cached_property
    def _norms(self) -> Tensor:
        # In parts, because half precision is converted for it.
        parts = [
            row_norms(part.float())
            for side in (self._query, self._gallery)
            for part in torch.split(side, NORM_ROWS)
        ]
        return torch.cat(parts)

    def _slice(self, start: int, stop: int) -> Tensor:
        middle = self.num_query
        if stop <= middle:
            return self._query[start:stop]
        if start >= middle:
            return self._gallery[start - middle : stop - middle]
        return torch.cat([self._query[start:].float(), self._gallery[: stop - middle].float()])
