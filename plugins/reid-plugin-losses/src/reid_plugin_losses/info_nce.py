"""InfoNCE over the pairs of a batch."""

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
from reid_plugin_losses.reductions import log_sum_exp_where, mean_where


class InfoNCELoss(PairLoss):
    """Tell one positive from all negatives of a row, for each positive.

    With the cosines s and the temperature τ, the pair of row i and its positive p costs::

        −log( exp(s_ip / τ) / (exp(s_ip / τ) + Σ_n exp(s_in / τ)) ),  n over the negatives of i

    The loss is the mean over the positive pairs of the rows that have a negative, then over the
    head's branches; without any it is 0. Other positives do not stand in the denominator; that is
    what sets it apart from ``supervised_contrastive``.

    Args:
        temperature: τ, above 0.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: van den Oord et al., "Representation Learning with Contrastive Predictive Coding",
        eq. 4, with every image of the identity as a positive.
    """

    name: ClassVar[str] = "info_nce"

    def __init__(self, *, temperature: float = 0.1) -> None:
        super().__init__()
        require_number("info_nce: temperature", temperature, above=0, example=0.1)
        self.temperature = temperature

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a row with a negative nearer than a positive; distances are 1 − cosine.
        """
        cosines, pairs = cosine_matrix(features), pairs_of(batch.pids)
        scores = cosines / self.temperature
        of_negatives = log_sum_exp_where(scores, pairs.negative)
        costs = F.softplus(of_negatives.unsqueeze(1) - scores)
        loss = mean_where(costs, pairs.of_complete_anchors().positive)
        return loss, describe(1 - cosines, pairs)
