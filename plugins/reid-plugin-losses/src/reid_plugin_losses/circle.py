"""Circle loss over the pairs of a batch."""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from reid_core.contracts import Batch
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.distance import cosine_matrix
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import Pairs, pairs_of
from reid_plugin_losses.reductions import log_sum_exp_where


class CircleLoss(PairLoss):
    """Weigh each pair by how far it is from where it should be.

    With the cosines s_p of a row's positives and s_n of its negatives, the row costs::

        log(1 + Σ_p exp(−γ α_p (s_p − 1 + m)) · Σ_n exp(γ α_n (s_n − m)))
        α_p = max(0, 1 + m − s_p),  α_n = max(0, s_n + m), without gradient

    The loss is the mean over all rows, then over the head's branches. A row without a positive or
    without a negative costs 0.

    Args:
        margin: m, at least 0 and below 1.
        gamma: γ, the scale, above 0. Sun et al. train with 128, FastReID's SBS with 64.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity Optimization", eq. 4
        and 8.
    """

    name: ClassVar[str] = "circle"

    def __init__(self, *, margin: float = 0.25, gamma: float = 64.0) -> None:
        super().__init__()
        require_number("circle: margin", margin, at_least=0, below=1, example=0.25)
        require_number("circle: gamma", gamma, above=0, example=64)
        self.margin = margin
        self.gamma = gamma

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a row whose two sums have a product above 1; distances are 1 − cosine.
        """
        cosines, pairs = cosine_matrix(features), pairs_of(batch.pids)
        excess = circle_excess(cosines, pairs, self.margin, self.gamma)
        return F.softplus(excess).mean(), describe(1 - cosines, pairs, is_active=excess > 0)


def circle_excess(cosines: Tensor, pairs: Pairs, margin: float, gamma: float) -> Tensor:
    """Return the logarithm of the product of both sums; ``softplus`` of it is the cost.

    Args:
        cosines: (B, M) float32 or float64.
        pairs: Masks (B, M).
        margin: m.
        gamma: γ.

    Returns:
        (B,); −1e8 or less where one of the sums is empty.
    """
    positive_weight = (1 + margin - cosines.detach()).clamp(min=0)
    negative_weight = (cosines.detach() + margin).clamp(min=0)
    positive = -gamma * positive_weight * (cosines - (1 - margin))
    negative = gamma * negative_weight * (cosines - margin)
    return log_sum_exp_where(positive, pairs.positive) + log_sum_exp_where(negative, pairs.negative)
