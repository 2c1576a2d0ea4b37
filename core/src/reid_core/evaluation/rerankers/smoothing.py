"""Smoothing of embeddings over the graph of nearest neighbours, without diffusion."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_core.evaluation.distances.distance import DistanceName, unit_rows
from reid_core.evaluation.rerankers.averages import available, averages, expansion_bytes
from reid_core.evaluation.rerankers.base import FeatureReranker
from reid_core.evaluation.rerankers.checks import check_count
from reid_core.evaluation.rerankers.joint import JointDistance


@dataclass(frozen=True)
class NeighbourSmoothing(FeatureReranker):
    """The smoothing of :func:`knn_smoothing`.

    Args:
        name: What a config calls it.
        description: What it does in one line.
        k: Rows in a mean, the row itself among them.
        strength: Share of the mean in the new row.
        iterations: How often.
    """

    k: int = 5
    strength: float = 0.5
    iterations: int = 1

    def needed_bytes(self, num_query: int, num_gallery: int, width: int) -> int:
        """Tell how much memory it adds at most."""
        num_rows = num_query + num_gallery
        return expansion_bytes(num_rows, num_rows, width, k=self.k, tables=3)

    def features(
        self, query: Tensor, gallery: Tensor, *, distance: DistanceName
    ) -> tuple[Tensor, Tensor]:
        """Move every row towards the mean of its nearest.

        Args:
            query: (Q, D) floating point.
            gallery: (G, D) floating point, without junk.
            distance: The distance that the set is compared by; under ``cosine`` rows become unit
                vectors first.

        Returns:
            (Q, D) and (G, D) float32.
        """
        joint = JointDistance(query, gallery, metric=distance)
        near = joint.nearest(available(self.name, self.k, joint.num_rows)).columns
        rows = torch.cat([query.detach().to(gallery.device).float(), gallery.detach().float()])
        if distance == "cosine":
            rows = unit_rows(rows)
        for _ in range(self.iterations):
            means = averages(rows, near, rows.__getitem__, alpha=0.0, metric="euclidean")
            rows.lerp_(means, self.strength)
        return rows[: len(query)].to(query.device), rows[len(query) :]


def knn_smoothing(*, k: int = 5, strength: float = 0.5, iterations: int = 1) -> FeatureReranker:
    """Return smoothing over nearest neighbours: rows move towards the mean of theirs.

    Neighbours are found once, among queries and gallery together. There is no system of equations
    to solve and no random walk, as in diffusion: after n iterations a row has heard of rows at
    most n steps away.

    Args:
        k: Rows in a mean, the row itself among them, at least 1; 1 changes nothing.
        strength: Share of the mean in the new row, above 0, at most 1.
        iterations: How often all rows are moved, at least 1.

    Returns:
        The reranker.

    Raises:
        ConfigError: A parameter is out of range.

    Source: original; a fixed number of steps of the averaging that graph convolutions do (Wu et
    al., Simplifying Graph Convolutional Networks, ICML 2019).
    """
    check_count("knn_smoothing", "k", k)
    check_count("knn_smoothing", "iterations", iterations)
    if not 0 < strength <= 1:
        raise ConfigError(
            f"knn_smoothing: strength is {strength}; expected the share of the mean, above 0 and "
            "at most 1"
        )
    times = "" if iterations == 1 else f", {iterations} times"
    return NeighbourSmoothing(
        name="knn_smoothing",
        description=f"smoothing by the {k} nearest (strength {strength:g}){times}",
        k=k,
        strength=strength,
        iterations=iterations,
    )
