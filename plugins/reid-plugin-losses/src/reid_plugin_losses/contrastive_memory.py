"""Contrastive loss against the batch and a memory of earlier batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.contrastive import Hinge
from reid_plugin_losses.distance import unit_length
from reid_plugin_losses.memory import FeatureMemory
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.pair_statistics import PairStatistics
from reid_plugin_losses.pairs import Pairs, pairs_of
from reid_plugin_losses.reading import require_sizes, single_feature_of


class ContrastiveMemoryLoss(PairLoss):
    """The contrastive loss, whose rows are also paired with features of earlier batches.

    With the distance d = 1 − cosine a positive pair costs max(0, d − m_p), a negative pair
    max(0, m_n − d). The loss is the mean over the positive pairs that cost something plus that over
    the negative ones, of the rows that have both kinds. Pairs are those of the batch with itself
    and with the last ``memory_size`` features; no gradient goes into the memory, and an entry that
    an image left there in an earlier epoch is not a positive of that image.

    In training mode each call adds the batch to the memory. The memory is part of the state, so
    that a resumed run goes on exactly. It works on one branch of the head. Several processes need
    ``gather: true``, so that all of them remember the same.

    Args:
        feature_dim: Length of the head's embedding; the trainer knows it.
        embedding_size: Length of the branch's features, where it is not the embedding's.
        memory_size: Entries of the memory, at least 1.
        start_step: Calls in training mode before the memory is read, at least 0: features change
            fast at the beginning.
        positive_margin: m_p, at least 0.
        negative_margin: m_n, above ``positive_margin``; at most 2 makes sense.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Wang et al., "Cross-Batch Memory for Embedding Learning", section 3.2; its published
        code takes the margin 0.5 and starts after 1000 steps.
    """

    name: ClassVar[str] = "contrastive_memory"
    needs_gather: ClassVar[bool] = True
    num_steps: Tensor

    def __init__(
        self,
        *,
        feature_dim: int | None = None,
        embedding_size: int | None = None,
        memory_size: int = 4096,
        start_step: int = 0,
        positive_margin: float = 0.0,
        negative_margin: float = 0.5,
    ) -> None:
        super().__init__()
        require_number("contrastive_memory: memory_size", memory_size, at_least=1, example=4096)
        require_number("contrastive_memory: start_step", start_step, at_least=0, example=1000)
        self._hinge = Hinge(positive_margin, negative_margin, power=1)
        self._hinge.check("contrastive_memory")
        self.feature_dim, _ = require_sizes(
            "contrastive_memory", feature_dim, embedding_size=embedding_size
        )
        self.start_step = start_step
        self.memory = FeatureMemory(memory_size, self.feature_dim)
        self.register_buffer("num_steps", torch.zeros((), dtype=torch.int64))

    def read(self, output: HeadOutput) -> Mapping[str, Tensor]:
        """Return the features of the one branch, (B, D)."""
        return single_feature_of(output, self.name, self.feature_dim, "a memory")

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () of features (B, D), and its statistics.

        Active is a pair that costs something; distances are 1 − cosine.
        """
        units = unit_length(features)
        # A copy of the memory, which changes below while the gradient still needs these numbers.
        others = torch.cat([units, self.memory.features.to(units.dtype)])
        loss, statistics = self._hinge.loss(1 - units @ others.T, self._pairs(batch))
        if self.training:
            self.memory.push(units.detach(), batch.pids, batch.index)
            self.num_steps += 1
        return loss, statistics

    def _pairs(self, batch: Batch) -> Pairs:
        """Return the pairs with the batch and with the memory, (B, B + M)."""
        memory, of_batch = self.memory, pairs_of(batch.pids)
        is_read = (memory.is_filled & (self.num_steps >= self.start_step)).unsqueeze(0)
        is_same = batch.pids.unsqueeze(1) == memory.pids
        is_itself = batch.index.unsqueeze(1) == memory.index
        return Pairs(
            positive=torch.cat([of_batch.positive, is_read & is_same & ~is_itself], dim=1),
            negative=torch.cat([of_batch.negative, is_read & ~is_same], dim=1),
        )
