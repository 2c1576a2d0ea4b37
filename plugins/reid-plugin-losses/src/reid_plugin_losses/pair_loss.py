"""What all losses over pairs have in common: branches, precision, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_plugin_losses.pair_statistics import PairStatistics
from reid_plugin_losses.precision import at_least_float32, full_precision
from reid_plugin_losses.reading import features_of


class PairLoss(nn.Module):
    """A loss over pairs of features, the mean over the head's branches.

    A derived class holds the formula, in :meth:`of_branch`. Features reach it as float32, outside
    autocast.

    Attributes:
        name: The loss in messages.
        counter: Name of the metric that counts the calls without a pair to compare.
    """

    name: ClassVar[str]
    counter: ClassVar[str] = "batches_without_pairs"

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[PairStatistics, ...] = ()
        self._batches_without_pairs = torch.zeros((), dtype=torch.int64)

    def of_branch(self, features: Tensor, batch: Batch) -> tuple[Tensor, PairStatistics]:
        """Return the loss () and the statistics of one branch.

        Args:
            features: (B, D) float32 or float64.
            batch: Its labels, ``pids`` (B,).
        """
        raise NotImplementedError

    def read(self, output: HeadOutput) -> Mapping[str, Tensor]:
        """Return the features to work on, by branch, each (B, D)."""
        return features_of(output, self.name)

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``features`` are read, each (B, D).
            batch: Its ``pids`` (B,) integers are read.

        Returns:
            () float32, or float64 when the features are.

        Raises:
            ConfigError: The head gave no features, or none that fit.
        """
        losses, statistics = [], []
        for features in self.read(output).values():
            with full_precision(features):
                loss, described = self.of_branch(at_least_float32(features), batch)
            losses.append(loss)
            statistics.append(described)
        self._last = tuple(statistics)
        # Which rows form pairs is a matter of the labels alone: one branch tells for all.
        is_without = statistics[0].valid_anchors == 0
        self._batches_without_pairs = self._batches_without_pairs + is_without
        return torch.stack(losses).mean()

    def metrics(self) -> dict[str, Tensor]:
        """Describe the last call of :meth:`forward`, averaged over the branches.

        Returns:
            Detached () float32 scalars, none before the first call: those of
            :class:`PairStatistics`, and, under the name in ``counter``, the calls so far, of this
            object, in which no row had both a positive and a negative.
        """
        if not self._last:
            return {}
        means = {
            field.name: torch.stack([getattr(branch, field.name) for branch in self._last]).mean()
            for field in fields(PairStatistics)
        }
        return {**means, self.counter: self._batches_without_pairs.float()}
