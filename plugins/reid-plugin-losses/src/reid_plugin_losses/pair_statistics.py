"""What a loss over pairs tells of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reid_plugin_losses.pairs import Pairs
from reid_plugin_losses.reductions import mean_where


@dataclass(frozen=True)
class PairStatistics:
    """Detached () float32 scalars of one branch; their names are those of the metrics.

    Args:
        valid_anchors: Rows that have a positive and a negative.
        active_fraction: Share of what the loss averages that is not yet as it should be.
        hardest_positive_distance: Mean over the valid anchors of the farthest positive.
        hardest_negative_distance: Mean over the valid anchors of the nearest negative.
    """

    valid_anchors: Tensor
    active_fraction: Tensor
    hardest_positive_distance: Tensor
    hardest_negative_distance: Tensor


@torch.no_grad()
def describe(
    distances: Tensor,
    pairs: Pairs,
    is_active: Tensor | None = None,
    is_counted: Tensor | None = None,
) -> PairStatistics:
    """Describe the pairs of a batch.

    Args:
        distances: (B, M) floating point.
        pairs: Masks (B, M).
        is_active: bool of any shape; None stands for the anchors whose farthest positive is
            farther than their nearest negative.
        is_counted: bool of that shape, the entries that can be active; None for the valid anchors.

    Returns:
        The statistics, 0 where no anchor is valid.
    """
    is_valid = pairs.has_both
    positive = distances.masked_fill(~pairs.positive, -torch.inf).amax(dim=1)
    negative = distances.masked_fill(~pairs.negative, torch.inf).amin(dim=1)
    active = positive > negative if is_active is None else is_active
    return PairStatistics(
        valid_anchors=is_valid.sum().float(),
        active_fraction=mean_where(active.float(), is_valid if is_counted is None else is_counted),
        hardest_positive_distance=mean_where(positive.float(), is_valid),
        hardest_negative_distance=mean_where(negative.float(), is_valid),
    )
