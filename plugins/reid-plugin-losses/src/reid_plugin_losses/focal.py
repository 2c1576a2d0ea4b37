"""Focal loss: cross entropy that counts well classified rows less."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_plugin_losses.checks import require_number
from reid_plugin_losses.precision import at_least_float32, full_precision
from reid_plugin_losses.reading import logits_of


class FocalLoss(nn.Module):
    """Mean of −α (1 − p)^γ log p, with p the probability that a row gives its label.

    The mean is over the rows, then over the head's branches.

    Args:
        alpha: α, above 0; a factor of the whole loss.
        gamma: γ, at least 0; 0 is α times the cross entropy.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Lin et al., "Focal Loss for Dense Object Detection", eq. 5, with one softmax over the
        classes as in FastReID.
    """

    def __init__(self, *, alpha: float = 0.25, gamma: float = 2.0) -> None:
        super().__init__()
        require_number("focal: alpha", alpha, above=0, example=0.25)
        require_number("focal: gamma", gamma, at_least=0, example=2)
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``logits`` are read, each (B, num_classes).
            batch: Its ``pids`` (B,) int64 are read, 0 to num_classes − 1.

        Returns:
            () float32.

        Raises:
            ConfigError: The head gave no logits.
        """
        terms = []
        for branch in logits_of(output, "focal").values():
            with full_precision(branch):
                terms.append(self._of_branch(at_least_float32(branch), batch.pids))
        return torch.stack(terms).mean()

    def _of_branch(self, logits: Tensor, pids: Tensor) -> Tensor:
        costs = F.cross_entropy(logits, pids, reduction="none")
        # 1 − p without cancellation. Its power has no gradient at 0 for γ below 1: the row, whose
        # cost is 0 there, is kept off it.
        missing = (-torch.expm1(-costs)).clamp(min=torch.finfo(costs.dtype).tiny)
        return self.alpha * (missing.pow(self.gamma) * costs).mean()
