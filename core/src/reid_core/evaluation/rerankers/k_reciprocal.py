"""k-reciprocal re-ranking, without a matrix of all rows by all rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import ConfigError
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.distances.neighbours import Neighbours, nearest_in_blocks
from reid_core.evaluation.rerankers.base import BlockSource, DistanceReranker
from reid_core.evaluation.rerankers.checks import check_count
from reid_core.evaluation.rerankers.jaccard import JaccardIndex
from reid_core.evaluation.rerankers.joint import JointDistance
from reid_core.evaluation.rerankers.memory import Need, need_of
from reid_core.evaluation.rerankers.progress import with_progress
from reid_core.evaluation.rerankers.reciprocal import relative, weighted_sets

log = logging.getLogger("reid_core")


@dataclass(frozen=True)
class KReciprocal(DistanceReranker):
    """The re-ranking of :func:`k_reciprocal`.

    Args:
        name: What a config calls it.
        description: What it does in one line.
        k1: Neighbours of a row.
        k2: Rows whose sets are averaged.
        lambda_value: Share of the original distance.
        memory_limit_gb: Memory that may be added.
    """

    k1: int = 20
    k2: int = 6
    lambda_value: float = 0.3
    memory_limit_gb: float = 2.0
    #: Lines that were logged: an evaluation asks for one and the same set several times.
    _said: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def needed_bytes(self, num_query: int, num_gallery: int, width: int) -> int:
        """Tell how much memory it adds at most."""
        return self._need(num_query, num_gallery, width).num_bytes

    def distances(self, query: Tensor, gallery: Tensor, *, distance: DistanceName) -> BlockSource:
        """Find neighbours and sets; distances are then made a block of queries at a time.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by.

        Returns:
            What gives the distances of a block of queries, (B, G) float32.

        Raises:
            DataError: The memory limit cannot be kept.
        """
        return self._source(query, gallery, np.full(len(query), -1), distance)

    def distances_once(
        self, query: Tensor, gallery: Tensor, places: Tensor, *, distance: DistanceName
    ) -> BlockSource:
        """Do the same where queries are in the gallery too: each image is one row.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            places: (Q,) int64 row of the gallery that each query is, -1 where it is none.
            distance: The distance that the set is compared by.

        Returns:
            What gives the distances of a block of queries, (B, G) float32.

        Raises:
            DataError: The memory limit cannot be kept.
        """
        return self._source(query, gallery, places.cpu().numpy(), distance)

    def _source(
        self, query: Tensor, gallery: Tensor, places: NDArray[np.int64], distance: DistanceName
    ) -> BlockSource:
        need = self._need(len(query), len(gallery), int(query.shape[1]))
        is_new = need.line() not in self._said
        if is_new:
            self._said.add(need.line())
            log.info("%s", need.line())
        need.require()
        is_only = places < 0
        only = query if is_only.all() else query[torch.from_numpy(is_only).to(query.device)]
        rows = JointDistance(only, gallery, metric=distance)
        queries = np.where(is_only, np.cumsum(is_only) - 1, places + rows.num_query)
        started = perf_counter()
        near = nearest_in_blocks(
            with_progress(rows.parts, rows.num_rows, name=self.name),
            (rows.num_rows, rows.num_rows),
            k=self._num_near(rows.num_rows),
            block_size=need.block_rows,
        )
        searched = perf_counter()
        index = self._index(near, rows, queries)
        log.log(
            logging.INFO if is_new else logging.DEBUG,
            "%s: neighbours in %.1f s, sets in %.1f s",
            self.name,
            searched - started,
            perf_counter() - searched,
        )
        farthest = near.farthest[queries][:, None]

        def source(start: int, stop: int) -> NDArray[np.float32]:
            stop = min(stop, len(query))
            original = relative(rows.to_gallery(query[start:stop]), farthest[start:stop])
            return self._mixed(index.distances(start, stop), original)

        return source

    def _index(
        self, near: Neighbours, rows: JointDistance, queries: NDArray[np.int64]
    ) -> JaccardIndex:
        sets = weighted_sets(near, k1=self.k1, pairs=rows.pairs)
        return JaccardIndex(
            sets, near.columns, queries=queries, first_gallery=rows.num_query, k2=self.k2
        )

    def _mixed(
        self, jaccard: NDArray[np.float32], original: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        np.square(original, out=original)
        original *= np.float32(self.lambda_value)
        jaccard *= np.float32(1 - self.lambda_value)
        jaccard += original
        return jaccard

    def _num_near(self, num_rows: int) -> int:
        if self.k1 > num_rows - 1:
            log.warning(
                "%s: k1 is %d, and a row has %d others; it looks at all of them",
                self.name,
                self.k1,
                num_rows - 1,
            )
        return min(max(self.k1 + 1, self.k2), num_rows)

    def _need(self, num_query: int, num_gallery: int, width: int) -> Need:
        return need_of(
            self.name,
            (num_query, num_gallery, width),
            k1=self.k1,
            k2=self.k2,
            limit_gb=self.memory_limit_gb,
        )


def k_reciprocal(
    *, k1: int = 20, k2: int = 6, lambda_value: float = 0.3, memory_limit_gb: float = 2.0
) -> DistanceReranker:
    """Return k-reciprocal re-ranking: rows are near whose mutual neighbours are the same.

    Equal to the published algorithm. Of tied neighbours the one with the smaller row counts,
    queries before the gallery. Distances are squared and divided by the largest of their row over
    queries and gallery, whatever the distance. Features and all tables together stay below the
    memory limit.

    Args:
        k1: Neighbours among which rows must be of each other, at least 1.
        k2: Nearest rows, itself among them, whose sets are averaged, at least 1; 1 averages
            nothing.
        lambda_value: Share of the original distance, 0 to 1; 1 keeps the plain order.
        memory_limit_gb: Memory that may be added, in gigabytes of 10⁹ bytes, above 0.

    Returns:
        The reranker.

    Raises:
        ConfigError: A parameter is out of range.

    Source: Zhong, Zheng, Cao and Li, Re-ranking Person Re-identification with k-reciprocal
    Encoding, CVPR 2017.
    """
    check_count("k_reciprocal", "k1", k1)
    check_count("k_reciprocal", "k2", k2)
    if not 0 <= lambda_value <= 1:
        raise ConfigError(
            f"k_reciprocal: lambda_value is {lambda_value}; expected 0 (Jaccard distance alone) to "
            "1 (original distance alone)"
        )
    if not memory_limit_gb > 0:
        raise ConfigError(
            f"k_reciprocal: memory_limit_gb is {memory_limit_gb}; expected gigabytes above 0"
        )
    return KReciprocal(
        name="k_reciprocal",
        description=f"k-reciprocal re-ranking (k1 {k1}, k2 {k2}, lambda {lambda_value:g})",
        k1=k1,
        k2=k2,
        lambda_value=lambda_value,
        memory_limit_gb=memory_limit_gb,
    )
