"""Cross entropy over the training identities, with three conventions of label smoothing."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice
from reid_plugin_losses.precision import at_least_float32, full_precision
from reid_plugin_losses.reading import logits_of

Smoothing = Literal["all_classes", "other_classes", "adaptive"]
Reduction = Literal["mean", "nonzero_mean"]


class CrossEntropyLoss(nn.Module):
    """Mean cross entropy of the head's logits, over the rows and over the head's branches.

    Toolboxes differ in where the smoothing mass ε goes, with K classes:

    * ``all_classes``: ε/K to each, so 1 − ε + ε/K stays with the label (torch, Bag of Tricks);
    * ``other_classes``: ε/(K − 1) to each other one, so 1 − ε stays with the label (FastReID);
    * ``adaptive``: as ``other_classes``, with ε = ``alpha`` · p of each row, where p is the
      probability that the row gives its label; no gradient goes through ε (FastReID's EPSILON −1).

    In evaluation mode labels are not smoothed: the value is the plain negative log-likelihood.

    Args:
        label_smoothing: ε, at least 0 and below 1; 0 with ``adaptive``, which makes its own.
        smoothing: Where ε goes.
        alpha: The factor of ``adaptive``, at least 0 and below 1.
        reduction: ``mean`` over the rows; ``nonzero_mean`` divides by the number of rows that cost
            more than 0, as FastReID does. They differ once a row costs 0 in float32.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", section 7;
        He et al., "FastReID", section 3 (adaptive).
    """

    def __init__(
        self,
        *,
        label_smoothing: float = 0.0,
        smoothing: Smoothing = "all_classes",
        alpha: float = 0.2,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        for parameter, value in (("label_smoothing", label_smoothing), ("alpha", alpha)):
            if not 0.0 <= value < 1.0:
                raise ConfigError(
                    f"cross_entropy: {parameter}: got {value}, expected at least 0 and below 1, "
                    "for example 0.1"
                )
        require_choice("cross_entropy: smoothing", smoothing, get_args(Smoothing))
        require_choice("cross_entropy: reduction", reduction, get_args(Reduction))
        if smoothing == "adaptive" and label_smoothing:
            raise ConfigError(
                f"cross_entropy: label_smoothing: got {label_smoothing} with smoothing: adaptive, "
                "which takes the mass from alpha; expected 0: leave label_smoothing out"
            )
        self.label_smoothing = label_smoothing
        self.smoothing = smoothing
        self.alpha = alpha
        self.reduction = reduction

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``logits`` are read, each (B, num_classes).
            batch: Its ``pids`` (B,) int64 are read, 0 to num_classes − 1.

        Returns:
            () float32.

        Raises:
            ConfigError: The head gave no logits, or ε leaves the label less likely than the others.
        """
        terms = []
        for branch in logits_of(output, "cross_entropy").values():
            with full_precision(branch):
                terms.append(self._of_branch(at_least_float32(branch), batch.pids))
        return torch.stack(terms).mean()

    def _of_branch(self, logits: Tensor, pids: Tensor) -> Tensor:
        if self.training and self.smoothing == "adaptive":
            costs = _adaptive(logits, pids, self.alpha)
        elif self.reduction == "mean":
            epsilon = self._epsilon_over_all(logits.shape[1])
            return F.cross_entropy(logits, pids, label_smoothing=epsilon)
        else:
            epsilon = self._epsilon_over_all(logits.shape[1])
            costs = F.cross_entropy(logits, pids, label_smoothing=epsilon, reduction="none")
        if self.reduction == "mean":
            return costs.mean()
        return costs.sum() / (costs.detach() != 0).sum().clamp(min=1)

    def _epsilon_over_all(self, num_classes: int) -> float:
        """Return the ε that, spread over all classes, gives the targets asked for."""
        if not self.training:
            return 0.0
        if self.smoothing == "all_classes":
            return self.label_smoothing
        if num_classes == 1:
            return 0.0
        # ε' / K = ε / (K − 1) for the others leaves 1 − ε'(K − 1)/K = 1 − ε to the label.
        epsilon = self.label_smoothing * num_classes / (num_classes - 1)
        if epsilon > 1.0:
            raise ConfigError(
                f"cross_entropy: label_smoothing {self.label_smoothing} over the "
                f"{num_classes - 1} other classes leaves the label less likely than they are; "
                f"expected at most {(num_classes - 1) / num_classes:.3g}, for example 0.1"
            )
        return epsilon


def _adaptive(logits: Tensor, pids: Tensor, alpha: float) -> Tensor:
    """Return the cost of each row (B,), with ε = alpha · p of its label."""
    of_label = F.cross_entropy(logits, pids, reduction="none")
    num_classes = logits.shape[1]
    if num_classes == 1:
        return of_label
    epsilon = alpha * (-of_label.detach()).exp()
    of_all = -logits.log_softmax(dim=1).sum(dim=1)
    return (1 - epsilon) * of_label + epsilon * (of_all - of_label) / (num_classes - 1)
