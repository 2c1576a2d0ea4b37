"""Supervised contrastive loss."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from reid_core.contracts import Batch
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.distance import cosine_matrix
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import pairs_of
from reid_plugin_losses.reductions import log_sum_exp_where, mean_where


class SupervisedContrastiveLoss(PairLoss):
    """Find each row's positives among all other rows.

    With the cosines s and the temperature τ, row i with the positives P(i) costs::

        −1/|P(i)| Σ_{p in P(i)} log( exp(s_ip / τ) / Σ_{a ≠ i} exp(s_ia / τ) )

    The loss is the mean over the rows that have a positive and a negative, then over the head's
    branches; without any it is 0.

    Args:
        temperature: τ, above 0.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Khosla et al., "Supervised Contrastive Learning", eq. 2.
    """

    name: ClassVar[str] = "supervised_contrastive"

    def __init__(self, *, temperature: float = 0.1) -> None:
        super().__init__()
        require_number("supervised_contrastive: temperature", temperature, above=0, example=0.1)
        self.temperature = temperature

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a row with a negative nearer than a positive; distances are 1 − cosine.
        """
        cosines, pairs = cosine_matrix(features), pairs_of(batch.pids)
        scores = cosines / self.temperature
        of_others = log_sum_exp_where(scores, pairs.positive | pairs.negative)
        costs = torch.where(pairs.positive, of_others.unsqueeze(1) - scores, 0.0).sum(dim=1)
        means = costs / pairs.positive.sum(dim=1).clamp(min=1)
        return mean_where(means, pairs.has_both), describe(1 - cosines, pairs)
