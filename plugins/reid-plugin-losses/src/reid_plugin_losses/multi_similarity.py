"""Multi-similarity loss."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from reid_core.contracts import Batch
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.distance import cosine_matrix
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import Pairs, pairs_of
from reid_plugin_losses.reductions import log_sum_exp_where


class MultiSimilarityLoss(PairLoss):
    """Weigh the hard pairs of each row by all others.

    A negative of a row is kept when its cosine s_n exceeds that of the farthest positive minus ε, a
    positive when its s_p stays below that of the nearest negative plus ε. A row with pairs of both
    kinds left costs::

        1/α log(1 + Σ_p exp(−α (s_p − λ))) + 1/β log(1 + Σ_n exp(β (s_n − λ)))

    and any other row 0. The loss is the mean over all rows, then over the head's branches.

    Args:
        alpha: α, above 0.
        beta: β, above 0. The paper names 50, its code uses 40.
        base: λ, the cosine about which pairs are weighed.
        epsilon: ε, at least 0. LightMBN takes 0.7, which keeps almost all pairs.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Wang et al., "Multi-Similarity Loss with General Pair Weighting for Deep Metric
        Learning", eq. 7, 8 and 15.
    """

    name: ClassVar[str] = "multi_similarity"

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        beta: float = 40.0,
        base: float = 0.5,
        epsilon: float = 0.1,
    ) -> None:
        super().__init__()
        require_number("multi_similarity: alpha", alpha, above=0, example=2)
        require_number("multi_similarity: beta", beta, above=0, example=40)
        require_number("multi_similarity: base", base, example=0.5)
        require_number("multi_similarity: epsilon", epsilon, at_least=0, example=0.1)
        self.alpha = alpha
        self.beta = beta
        self.base = base
        self.epsilon = epsilon

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a pair that was kept, out of those of the rows that have both kinds; distances are
        1 − cosine.
        """
        cosines, pairs = cosine_matrix(features), pairs_of(batch.pids)
        kept = self._mine(cosines.detach(), pairs)
        positive = log_sum_exp_where(-self.alpha * (cosines - self.base), kept.positive)
        negative = log_sum_exp_where(self.beta * (cosines - self.base), kept.negative)
        costs = F.softplus(positive) / self.alpha + F.softplus(negative) / self.beta
        complete = pairs.of_complete_anchors()
        statistics = describe(
            1 - cosines,
            pairs,
            is_active=kept.positive | kept.negative,
            is_counted=complete.positive | complete.negative,
        )
        return costs.mean(), statistics

    def _mine(self, cosines: Tensor, pairs: Pairs) -> Pairs:
        farthest = cosines.masked_fill(~pairs.positive, torch.inf).amin(dim=1, keepdim=True)
        nearest = cosines.masked_fill(~pairs.negative, -torch.inf).amax(dim=1, keepdim=True)
        # Written as what is dropped, so that a feature that is no number is kept, and seen. Both
        # kinds are kept or none: the condition on the hardest pair is the same from either side.
        return Pairs(
            positive=pairs.positive & ~(cosines - self.epsilon >= nearest),
            negative=pairs.negative & ~(cosines + self.epsilon <= farthest),
        )
