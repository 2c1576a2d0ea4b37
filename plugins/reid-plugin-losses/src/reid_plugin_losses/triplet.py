"""Triplet loss, with four ways of mining."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, get_args

import torch.nn.functional as F
from torch import Tensor

from reid_core.contracts import Batch
from reid_core.errors import ConfigError
from reid_plugin_losses import triplet_distances
from reid_plugin_losses.checks import require_choice
from reid_plugin_losses.distance import DistanceName, all_pairs, unit_length
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics, describe
from reid_plugin_losses.pairs import pairs_of
from reid_plugin_losses.reductions import mean_of_nonzero, mean_where
from reid_plugin_losses.triplet_distances import TripletDistances

MiningName = Literal["hard", "softmax_weighted", "semi_hard", "all", "all_nonzero"]
Convention = Literal["paper", "fastreid"]

_Mine = Callable[[Tensor, Tensor, DistanceName], TripletDistances]
_MINING: Mapping[tuple[str, str], _Mine] = {
    ("hard", "paper"): triplet_distances.hard,
    ("softmax_weighted", "paper"): triplet_distances.softmax_weighted,
    ("semi_hard", "paper"): triplet_distances.semi_hard,
    ("all", "paper"): triplet_distances.every,
    ("all_nonzero", "paper"): triplet_distances.every,
    ("hard", "fastreid"): triplet_distances.hard_with_self,
    ("softmax_weighted", "fastreid"): triplet_distances.softmax_weighted_with_self,
}


class TripletLoss(PairLoss):
    """Push the positives of each row nearer than its negatives.

    With two distances d_p and d_n a row costs ``max(0, d_p − d_n + margin)``, or, with
    ``margin="soft"``, ``log(1 + exp(d_p − d_n))``. The loss is the mean over the rows (or pairs, or
    triplets) that ``mining`` gives, then over the head's branches. A row has to have a positive
    other than itself and a negative; without any such row the loss is 0 with gradient zero.

    Gradients are finite everywhere: two equal features pull at each other with 0.

    Args:
        margin: Distance to keep between d_p and d_n, above 0, in the unit of ``distance``; or
            ``"soft"``. (FastReID and others spell the soft margin as margin 0.)
        mining: Which distances a row compares:

            * ``hard``: the farthest positive and the nearest negative of the batch;
            * ``softmax_weighted``: the mean of the positives weighted by softmax(d) and that of the
              negatives weighted by softmax(−d) (AGW, with the soft margin);
            * ``semi_hard``: each positive, and the nearest negative that is farther than it; where
              there is none, the farthest negative. The mean is over the pairs;
            * ``all``: each positive with each negative; needs memory for B³ numbers;
            * ``all_nonzero``: the same, but triplets that cost nothing do not count.
        distance: Euclidean distance or its square. FastReID's NORM_FEAT is ``squared_euclidean``
            with ``normalize``, that is 2 − 2·cosine.
        normalize: Scale features to length 1 first.
        convention: ``paper`` as above; ``fastreid``, for ``hard`` and ``softmax_weighted``, counts
            each row as a positive of itself and averages over all rows, and computes the weights as
            FastReID and AGW do (see :mod:`reid_plugin_losses.triplet_distances`).

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Hermans et al., "In Defense of the Triplet Loss for Person Re-Identification", eq. 5 and
        6 and section 2; Ye et al., "Deep Learning for Person Re-identification: A Survey and
        Outlook", eq. 4; Schroff et al., "FaceNet", section 3.2.
    """

    name: ClassVar[str] = "triplet"
    counter: ClassVar[str] = "batches_without_triplet"

    def __init__(
        self,
        *,
        margin: float | Literal["soft"] = 0.3,
        mining: MiningName = "hard",
        distance: DistanceName = "euclidean",
        normalize: bool = False,
        convention: Convention = "paper",
    ) -> None:
        super().__init__()
        _require_margin(margin)
        require_choice("triplet: mining", mining, get_args(MiningName))
        require_choice("triplet: distance", distance, get_args(DistanceName))
        require_choice("triplet: convention", convention, get_args(Convention))
        if (mining, convention) not in _MINING:
            raise ConfigError(
                f"triplet: convention: got {convention} with mining {mining}, which FastReID does "
                "not have; expected mining hard or softmax_weighted, or convention: paper"
            )
        self.margin = margin
        #: What the loss is when all embeddings are equal.
        self.collapsed_value = math.log(2) if margin == "soft" else margin
        self.mining = mining
        self.distance = distance
        self.normalize = normalize
        self.convention = convention

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        What counts as active is what costs more than 0, or, with the soft margin, has d_p > d_n.
        """
        values = unit_length(features) if self.normalize else features
        mined = _MINING[self.mining, self.convention](values, batch.pids, self.distance)
        excess = mined.positive - mined.negative + (0.0 if self.margin == "soft" else self.margin)
        costs = F.softplus(excess) if self.margin == "soft" else F.relu(excess)
        lengths = all_pairs(values)
        statistics = describe(
            lengths.square() if self.distance == "squared_euclidean" else lengths,
            pairs_of(batch.pids),
            is_active=excess > 0,
            is_counted=mined.is_counted,
        )
        average = mean_of_nonzero if self.mining == "all_nonzero" else mean_where
        return average(costs, mined.is_counted), statistics


def _require_margin(margin: float | str) -> None:
    if margin == "soft" or (not isinstance(margin, str) and 0 < margin < math.inf):
        return
    raise ConfigError(
        f"triplet: margin: got {margin!r}, expected a number above 0, for example 0.3, or soft; "
        "what other toolboxes write as margin 0 is margin: soft here"
    )
