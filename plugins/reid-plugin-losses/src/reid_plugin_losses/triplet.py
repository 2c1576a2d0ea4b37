"""Triplet loss over the hardest pairs of a batch."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice
from reid_plugin_losses.distance import DistanceName, all_pairs, row_pairs, rows_of, unit_length
from reid_plugin_losses.mining import batch_hard
from reid_plugin_losses.precision import at_least_float32, full_precision

MiningName = Literal["hard"]


class TripletLoss(nn.Module):
    """Push each row's hardest positive nearer than its hardest negative.

    With the distances d_p and d_n of the two, a row costs ``max(0, d_p − d_n + margin)``, or, with
    ``margin="soft"``, ``log(1 + exp(d_p − d_n))``. The loss is the mean over the rows that have a
    positive other than themselves and a negative, then over the head's branches; without any such
    row it is 0 with gradient zero.

    Gradients are finite everywhere: two equal features pull at each other with 0.

    Args:
        margin: Distance to keep between d_p and d_n, above 0, in the unit of ``distance``; or
            ``"soft"``. (FastReID and others spell the soft margin as margin 0.)
        mining: ``"hard"``: the farthest positive and the nearest negative of the batch.
        distance: Euclidean distance or its square. FastReID's NORM_FEAT is ``squared_euclidean``
            with ``normalize``, that is 2 − 2·cosine.
        normalize: Scale features to length 1 first.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Hermans et al., "In Defense of the Triplet Loss for Person Re-Identification", eq. 5 and
        section 2.
    """

    def __init__(
        self,
        *,
        margin: float | Literal["soft"] = 0.3,
        mining: MiningName = "hard",
        distance: DistanceName = "euclidean",
        normalize: bool = False,
    ) -> None:
        super().__init__()
        _require_margin(margin)
        require_choice("triplet: mining", mining, get_args(MiningName))
        require_choice("triplet: distance", distance, get_args(DistanceName))
        self.margin = margin
        self.mining = mining
        self.distance = distance
        self.normalize = normalize
        self._last: tuple[_Statistics, ...] = ()
        self._batches_without_triplet = torch.zeros((), dtype=torch.int64)

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``features`` are read, each (B, D).
            batch: Its ``pids`` (B,) integers are read.

        Returns:
            () float32, or float64 when the features are.

        Raises:
            ConfigError: The head gave no features.
        """
        if not output.features:
            raise ConfigError(
                "triplet: the head gave no features, expected at least one entry; choose a head "
                "with metric features, such as bnneck, or take triplet out of model.losses"
            )
        branches = [self._branch(features, batch.pids) for features in output.features.values()]
        self._last = tuple(statistics for _, statistics in branches)
        # Which rows have a triplet is a matter of pids alone: one branch tells for all.
        is_without = self._last[0].valid_anchors == 0
        self._batches_without_triplet = self._batches_without_triplet + is_without
        return torch.stack([loss for loss, _ in branches]).mean()

    def metrics(self) -> dict[str, Tensor]:
        """Describe the last call of :meth:`forward`, averaged over the branches.

        Returns:
            Detached () float32 scalars, none before the first call. Means are over the rows that
            have a positive and a negative, and 0 where there is none:

            * ``valid_anchors``: how many rows those are; 0 is a batch without any triplet;
            * ``active_fraction``: share of them whose d_p + margin exceeds d_n (soft: d_p does);
            * ``hardest_positive_distance``, ``hardest_negative_distance``: mean d_p and mean d_n;
            * ``batches_without_triplet``: calls so far, of this object, without a valid row.
        """
        if not self._last:
            return {}
        means = {
            field.name: torch.stack([getattr(branch, field.name) for branch in self._last]).mean()
            for field in fields(_Statistics)
        }
        return {**means, "batches_without_triplet": self._batches_without_triplet.float()}

    def _branch(self, features: Tensor, pids: Tensor) -> tuple[Tensor, _Statistics]:
        with full_precision(features):
            values = at_least_float32(features)
            if self.normalize:
                values = unit_length(values)
            # The square orders pairs as the distance does: one matrix serves both.
            mined = batch_hard(all_pairs(values), pids)
            positive = row_pairs(values, rows_of(values, mined.positives), self.distance)
            negative = row_pairs(values, rows_of(values, mined.negatives), self.distance)
            excess = positive - negative + (0.0 if self.margin == "soft" else self.margin)
            costs = F.softplus(excess) if self.margin == "soft" else F.relu(excess)
            statistics = _Statistics(
                valid_anchors=mined.is_valid.sum().float(),
                active_fraction=_mean_where((excess > 0).float(), mined.is_valid),
                hardest_positive_distance=_mean_where(positive.detach().float(), mined.is_valid),
                hardest_negative_distance=_mean_where(negative.detach().float(), mined.is_valid),
            )
            return _mean_where(costs, mined.is_valid), statistics


@dataclass(frozen=True)
class _Statistics:
    """Detached () float32 scalars of one branch; their names are those of the metrics."""

    valid_anchors: Tensor
    active_fraction: Tensor
    hardest_positive_distance: Tensor
    hardest_negative_distance: Tensor


def _mean_where(values: Tensor, is_valid: Tensor) -> Tensor:
    """Average (B,) values where (B,) says so, or give 0 connected to them; no host sync."""
    kept = torch.where(is_valid, values, torch.zeros_like(values))
    return kept.sum() / is_valid.sum().clamp(min=1)


def _require_margin(margin: float | str) -> None:
    if margin == "soft" or (not isinstance(margin, str) and 0 < margin < math.inf):
        return
    raise ConfigError(
        f"triplet: margin: got {margin!r}, expected a number above 0, for example 0.3, or soft; "
        "what other toolboxes write as margin 0 is margin: soft here"
    )
