"""CosFace's margin over the pairs of a batch."""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from reid_core.contracts import Batch
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.distance import cosine_matrix
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import pairs_of
from reid_plugin_losses.reductions import log_sum_exp_where


class CosFaceLoss(PairLoss):
    """Keep the cosines of positives above those of negatives by a margin.

    With the cosines s_p of a row's positives and s_n of its negatives, the row costs
    log(1 + Σ_p exp(−γ s_p) · Σ_n exp(γ (s_n + m))). The loss is the mean over all rows, then over
    the head's branches. A row without a positive or without a negative costs 0.

    Args:
        margin: m, at least 0.
        gamma: γ, the scale, above 0.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Sun et al., "Circle Loss", eq. 6, the pair-wise form of Wang et al., "CosFace";
        FastReID's CosfaceLoss.
    """

    name: ClassVar[str] = "cosface"

    def __init__(self, *, margin: float = 0.25, gamma: float = 64.0) -> None:
        super().__init__()
        require_number("cosface: margin", margin, at_least=0, example=0.25)
        require_number("cosface: gamma", gamma, above=0, example=64)
        self.margin = margin
        self.gamma = gamma

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a row whose two sums have a product above 1; distances are 1 − cosine.
        """
        cosines, pairs = cosine_matrix(features), pairs_of(batch.pids)
        positive = log_sum_exp_where(-self.gamma * cosines, pairs.positive)
        negative = log_sum_exp_where(self.gamma * (cosines + self.margin), pairs.negative)
        excess = positive + negative
        return F.softplus(excess).mean(), describe(1 - cosines, pairs, is_active=excess > 0)
