"""Contrastive loss: every pair against a fixed distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from reid_core.contracts import Batch
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice, require_number
from reid_plugin_losses.distance import DistanceName, pair_matrix, unit_length
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import Pairs, pairs_of
from reid_plugin_losses.reductions import mean_of_nonzero

Power = Literal[1, 2]


class ContrastiveLoss(PairLoss):
    """Pull positives within one distance, push negatives beyond another.

    At distance d a positive pair costs max(0, d − m_p)^k, a negative pair max(0, m_n − d)^k. The
    loss is the mean over the positive pairs that cost something plus that over the negative ones,
    of the rows that have both kinds; then the mean over the head's branches. Without pairs it is 0.

    Args:
        positive_margin: m_p, at least 0: how far a positive may be.
        negative_margin: m_n, above ``positive_margin``: how far a negative shall be.
        power: k: 2 as published, 1 for the plain hinge.
        distance: Euclidean distance or its square.
        normalize: Scale features to length 1 first; distances are then at most 2.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Hadsell et al., "Dimensionality Reduction by Learning an Invariant Mapping", eq. 4. The
        mean over what costs something is the usual one since, of the sum that they minimise.
    """

    name: ClassVar[str] = "contrastive"

    def __init__(
        self,
        *,
        positive_margin: float = 0.0,
        negative_margin: float = 1.0,
        power: Power = 2,
        distance: DistanceName = "euclidean",
        normalize: bool = True,
    ) -> None:
        super().__init__()
        self._hinge = Hinge(positive_margin, negative_margin, power)
        self._hinge.check("contrastive")
        require_choice("contrastive: distance", distance, get_args(DistanceName))
        self.distance = distance
        self.normalize = normalize

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a pair that costs something.
        """
        values = unit_length(features) if self.normalize else features
        return self._hinge.loss(pair_matrix(values, self.distance), pairs_of(batch.pids))


@dataclass(frozen=True)
class Hinge:
    """The costs of pairs at a distance, and their mean.

    Args:
        positive_margin: m_p.
        negative_margin: m_n.
        power: k.
    """

    positive_margin: float
    negative_margin: float
    power: Power

    def check(self, loss: str) -> None:
        """Refuse margins that contradict each other, and other powers.

        Args:
            loss: Name of the loss, for the message.

        Raises:
            ConfigError: One of them is out of its range.
        """
        near, far = self.positive_margin, self.negative_margin
        require_number(f"{loss}: positive_margin", near, at_least=0, example=0)
        require_number(f"{loss}: negative_margin", far, above=near, example=near + 0.5)
        if self.power not in get_args(Power):
            raise ConfigError(f"{loss}: power: got {self.power}, expected 1 or 2")

    def loss(self, distances: Tensor, pairs: Pairs) -> tuple[Tensor, PairStatistics]:
        """Return the loss () and the statistics.

        Args:
            distances: (B, M) float32 or float64.
            pairs: Masks (B, M).
        """
        complete = pairs.of_complete_anchors()
        positive = (distances - self.positive_margin).relu().pow(self.power)
        negative = (self.negative_margin - distances).relu().pow(self.power)
        loss = mean_of_nonzero(positive, complete.positive)
        loss = loss + mean_of_nonzero(negative, complete.negative)
        statistics = describe(
            distances,
            pairs,
            is_active=torch.where(pairs.positive, positive > 0, negative > 0),
            is_counted=complete.positive | complete.negative,
        )
        return loss, statistics
