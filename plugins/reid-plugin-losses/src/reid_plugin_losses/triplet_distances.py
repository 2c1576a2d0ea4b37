"""The distances d_p and d_n that a triplet loss compares, by way of mining."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reid_plugin_losses.distance import DistanceName, all_pairs, pair_matrix, row_pairs, rows_of
from reid_plugin_losses.mining import batch_hard, semi_hard_negatives
from reid_plugin_losses.pairs import pairs_of

#: FastReID's distance of a row without negatives: no margin reaches it.
_OUT_OF_REACH = 1e9
#: Stands for −∞ in a softmax: a row of −∞ alone would give 0/0.
_LOWEST = -1e9


@dataclass(frozen=True)
class TripletDistances:
    """Distances to compare, in one shape or shapes that broadcast.

    Args:
        positive: d_p.
        negative: d_n.
        is_counted: bool, which entries the loss averages.
    """

    positive: Tensor
    negative: Tensor
    is_counted: Tensor


def hard(features: Tensor, pids: Tensor, distance: DistanceName) -> TripletDistances:
    """Farthest positive and nearest negative of each row, (B,).

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.
    """
    # The square orders pairs as the distance does: one matrix serves both.
    mined = batch_hard(all_pairs(features), pids)
    positive = row_pairs(features, rows_of(features, mined.positives), distance)
    negative = row_pairs(features, rows_of(features, mined.negatives), distance)
    return TripletDistances(positive, negative, mined.is_valid)


def softmax_weighted(features: Tensor, pids: Tensor, distance: DistanceName) -> TripletDistances:
    """Means of each row's positives and negatives, weighted towards the hard ones, (B,).

    d_p = Σ softmax(d)·d over the positives, d_n = Σ softmax(−d)·d over the negatives; the gradient
    goes through the weights too.

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.

    Source: Ye et al., "Deep Learning for Person Re-identification: A Survey and Outlook", eq. 4.
    """
    pairs, matrix = pairs_of(pids), pair_matrix(features, distance)
    return TripletDistances(
        positive=(_softmax_where(matrix, pairs.positive) * matrix).sum(dim=1),
        negative=(_softmax_where(-matrix, pairs.negative) * matrix).sum(dim=1),
        is_counted=pairs.has_both,
    )


def semi_hard(features: Tensor, pids: Tensor, distance: DistanceName) -> TripletDistances:
    """Every positive pair with its semi-hard negative, (B, B).

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.
    """
    pairs, matrix = pairs_of(pids), pair_matrix(features, distance)
    negatives = semi_hard_negatives(matrix.detach(), pairs)
    cells = negatives + torch.arange(len(pids), device=pids.device).unsqueeze(1) * len(pids)
    # A look-up rather than gather(): the gradient of that is not the same in every run on a GPU.
    picked = rows_of(matrix.reshape(-1, 1), cells.flatten()).view_as(matrix)
    return TripletDistances(matrix, picked, pairs.of_complete_anchors().positive)


def every(features: Tensor, pids: Tensor, distance: DistanceName) -> TripletDistances:
    """Every triplet (a, p, n): d_p as (B, B, 1), d_n as (B, 1, B), counted as (B, B, B).

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.
    """
    pairs, matrix = pairs_of(pids), pair_matrix(features, distance)
    return TripletDistances(
        positive=matrix.unsqueeze(2),
        negative=matrix.unsqueeze(1),
        is_counted=pairs.positive.unsqueeze(2) & pairs.negative.unsqueeze(1),
    )


def hard_with_self(features: Tensor, pids: Tensor, distance: DistanceName) -> TripletDistances:
    """As :func:`hard` by FastReID's count: each row is a positive of itself, each is counted.

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.

    Source: FastReID, ``hard_example_mining``.
    """
    found, pairs = hard(features, pids, distance), pairs_of(pids)
    has_positive, has_negative = pairs.positive.any(dim=1), pairs.negative.any(dim=1)
    return TripletDistances(
        positive=found.positive.masked_fill(~has_positive, 0.0),
        negative=found.negative.masked_fill(~has_negative, _OUT_OF_REACH),
        is_counted=torch.ones_like(has_positive),
    )


def softmax_weighted_with_self(
    features: Tensor, pids: Tensor, distance: DistanceName
) -> TripletDistances:
    """As :func:`softmax_weighted` by FastReID's count and arithmetic.

    Each row is a positive of itself, each is counted. 1e-6 is added to the sum of the weights,
    which for the negatives are exp(−d) itself: where all negatives are farther than about 14,
    their weights vanish and d_n becomes 0.

    Args:
        features: (B, D) float32 or float64.
        pids: (B,) labels.
        distance: What is measured.

    Source: FastReID, ``weighted_example_mining``; AGW's code has the same arithmetic.
    """
    matrix = pair_matrix(features, distance)
    is_same = pids.unsqueeze(0) == pids.unsqueeze(1)
    return TripletDistances(
        positive=(_shifted_weights(matrix, is_same) * matrix).sum(dim=1),
        negative=(_shifted_weights(-matrix, ~is_same) * matrix).sum(dim=1),
        is_counted=torch.ones_like(pids, dtype=torch.bool),
    )


def _softmax_where(scores: Tensor, is_counted: Tensor) -> Tensor:
    """Return the softmax of each row (B, M) over what is counted, 0 elsewhere."""
    weights = scores.masked_fill(~is_counted, _LOWEST).softmax(dim=1)
    return weights.masked_fill(~is_counted, 0.0)


def _shifted_weights(scores: Tensor, is_counted: Tensor) -> Tensor:
    largest = (scores.detach() * is_counted).amax(dim=1, keepdim=True)
    # Where an entry is not counted, exp could overflow, and 0 · ∞ is no number.
    shifted = (scores - largest).masked_fill(~is_counted, -torch.inf).exp()
    weights: Tensor = shifted / (shifted.sum(dim=1, keepdim=True) + 1e-6)
    return weights
