"""Distances between embeddings: all pairs for mining, chosen pairs for the gradient."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

DistanceName = Literal["euclidean", "squared_euclidean"]


def unit_length(features: Tensor) -> Tensor:
    """Scale each row to Euclidean length 1; a row of zeros stays, with gradient zero.

    Args:
        features: (B, D) floating point.

    Returns:
        (B, D), same type.
    """
    norms: Tensor = torch.linalg.vector_norm(features, dim=1, keepdim=True)
    # An infinite divisor gives value 0 and gradient 0; a small one would give a gradient as large
    # as its inverse.
    return features / norms.masked_fill(norms == 0, torch.inf)


def all_pairs(features: Tensor) -> Tensor:
    """Compute the Euclidean distance of each row to each row.

    Differences are taken before squares: the shorter ``‖x‖² + ‖y‖² − 2xy`` cancels where
    embeddings are near each other or far from the origin, and TF32 would coarsen it further.

    Args:
        features: (B, D) float32 or float64.

    Returns:
        (B, B), same type, not differentiable.
    """
    values = features.detach()
    return torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")


def pair_matrix(features: Tensor, name: DistanceName) -> Tensor:
    """Measure each row against each row, with a gradient.

    Args:
        features: (B, D) float32 or float64.
        name: Euclidean distance or its square.

    Returns:
        (B, B), same type; the gradient is zero where two rows are equal.
    """
    # As in all_pairs; its backward, too, gives 0 at distance 0. On a GPU that needs B² · D numbers.
    lengths = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return lengths.square() if name == "squared_euclidean" else lengths


def cosine_matrix(features: Tensor) -> Tensor:
    """Return the cosine of each row with each row, whatever their lengths.

    Args:
        features: (B, D) float32 or float64.

    Returns:
        (B, B), same type; a row of zeros has cosine 0 with all.
    """
    units = unit_length(features)
    return units @ units.T


def rows_of(features: Tensor, rows: Tensor) -> Tensor:
    """Pick rows, any of them several times, with a gradient that is the same in every run.

    Args:
        features: (B, D) floating point.
        rows: (M,) int64.

    Returns:
        (M, D), same type as ``features``.
    """
    # features[rows] sums the gradients of a row that is picked twice in whatever order the threads
    # come on a CPU, and index_select does on a GPU; the look-up of a table does in neither.
    return F.embedding(rows, features)


def row_pairs(first: Tensor, second: Tensor, name: DistanceName) -> Tensor:
    """Measure each row of ``first`` against the same row of ``second``.

    Args:
        first: (M, D) float32 or float64.
        second: (M, D), same type.
        name: Euclidean distance or its square.

    Returns:
        (M,), same type; the gradient is zero where two rows are equal.
    """
    difference = first - second
    if name == "squared_euclidean":
        return difference.square().sum(dim=1)
    # Its backward masks length 0, where sqrt(sum(square)) would give 0/0.
    length: Tensor = torch.linalg.vector_norm(difference, dim=1)
    return length
