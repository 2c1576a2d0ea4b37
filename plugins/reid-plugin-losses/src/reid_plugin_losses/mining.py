"""Choice of the pairs that a triplet is made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reid_plugin_losses.pairs import Pairs, pairs_of


@dataclass(frozen=True)
class MinedTriplets:
    """One positive and one negative for each anchor, which is the row itself.

    Args:
        positives: (B,) int64 row of the positive.
        negatives: (B,) int64 row of the negative.
        is_valid: (B,) bool, whether the anchor has both; where False the rows mean nothing.
    """

    positives: Tensor
    negatives: Tensor
    is_valid: Tensor


def batch_hard(distances: Tensor, pids: Tensor) -> MinedTriplets:
    """Pick for each anchor the farthest row of its identity and the nearest of another.

    An anchor is not its own positive.

    Args:
        distances: (B, B) floating point, at least 0.
        pids: (B,) integer labels.

    Returns:
        The triplets; of equal distances the first row is taken.

    Source: Hermans et al., "In Defense of the Triplet Loss for Person Re-Identification", eq. 5.
    """
    pairs = pairs_of(pids)
    return MinedTriplets(
        positives=distances.masked_fill(~pairs.positive, -torch.inf).argmax(dim=1),
        negatives=distances.masked_fill(~pairs.negative, torch.inf).argmin(dim=1),
        is_valid=pairs.has_both,
    )


def semi_hard_negatives(distances: Tensor, pairs: Pairs) -> Tensor:
    """Pick for each pair (a, p) the nearest negative of a that is farther than p.

    Where every negative is as near as p or nearer, the farthest of them is picked.

    Args:
        distances: (B, B) floating point, not differentiated.
        pairs: Masks (B, B).

    Returns:
        (B, B) int64, row of the negative for anchor and positive; without meaning where the anchor
        has no negative.

    Source: Schroff et al., "FaceNet", section 3.2; the fallback is that of TensorFlow Addons.
    """
    # Sorted negatives and a binary search: comparing all triplets would take B³ numbers.
    ordered, rows = distances.masked_fill(~pairs.negative, torch.inf).sort(dim=1)
    first_farther = torch.searchsorted(ordered, distances.contiguous(), right=True)
    last = (pairs.negative.sum(dim=1, keepdim=True) - 1).clamp(min=0)
    return rows.gather(1, torch.minimum(first_farther, last))
