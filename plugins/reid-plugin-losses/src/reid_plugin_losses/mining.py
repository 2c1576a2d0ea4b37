"""Choice of the pairs that a triplet is made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


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
    is_same = pids.unsqueeze(0) == pids.unsqueeze(1)
    is_self = torch.eye(len(pids), dtype=torch.bool, device=pids.device)
    is_positive = is_same & ~is_self
    return MinedTriplets(
        positives=distances.masked_fill(~is_positive, -torch.inf).argmax(dim=1),
        negatives=distances.masked_fill(is_same, torch.inf).argmin(dim=1),
        is_valid=is_positive.any(dim=1) & ~is_same.all(dim=1),
    )
