"""Cross entropy over the training identities, with either convention of label smoothing."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice
from reid_plugin_losses.precision import at_least_float32, full_precision

Smoothing = Literal["all_classes", "other_classes"]


class CrossEntropyLoss(nn.Module):
    """Mean cross entropy of the head's logits, over the rows and over the head's branches.

    Toolboxes differ in where the smoothing mass ε goes, with K classes:

    * ``all_classes``: ε/K to each, so 1 − ε + ε/K stays with the label (torch, Bag of Tricks);
    * ``other_classes``: ε/(K − 1) to each other one, so 1 − ε stays with the label (FastReID).

    In evaluation mode labels are not smoothed: the value is the plain negative log-likelihood.

    Args:
        label_smoothing: ε, at least 0 and below 1.
        smoothing: Where ε goes.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", section 7.
    """

    def __init__(
        self, *, label_smoothing: float = 0.0, smoothing: Smoothing = "all_classes"
    ) -> None:
        super().__init__()
        if not 0.0 <= label_smoothing < 1.0:
            raise ConfigError(
                f"cross_entropy: label_smoothing: got {label_smoothing}, expected at least 0 and "
                "below 1, for example 0.1"
            )
        require_choice("cross_entropy: smoothing", smoothing, get_args(Smoothing))
        self.label_smoothing = label_smoothing
        self.smoothing = smoothing

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
        if not output.logits:
            raise ConfigError(
                "cross_entropy: the head gave no logits, expected at least one entry: the head has "
                "no classifier, or is in evaluation mode; choose a head with a classifier, such as "
                "bnneck, or take cross_entropy out of model.losses"
            )
        terms = []
        for branch in output.logits.values():
            with full_precision(branch):
                logits = at_least_float32(branch)
                epsilon = self._epsilon_over_all(logits.shape[1])
                terms.append(F.cross_entropy(logits, batch.pids, label_smoothing=epsilon))
        return torch.stack(terms).mean()

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
