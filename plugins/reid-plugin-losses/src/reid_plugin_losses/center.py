"""Centre loss: a learned centre for each identity."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_plugin_losses.checks import require_choice, require_number
from reid_plugin_losses.precision import at_least_float32, full_precision
from reid_plugin_losses.reading import require_sizes, single_feature_of

Form = Literal["full", "half"]


class CenterLoss(nn.Module):
    """Pull each feature to the centre of its identity, and the centre to its features.

    The loss is the mean of ‖f − c‖² over the rows, or half of it. The centres begin at random,
    standard normal. The loss's weight in the sum reaches the features only: the centres are moved
    by the gradient of the unweighted loss, by plain SGD at their own constant learning rate,
    whatever optimizer and schedule the rest is trained with; that is the published rule.

    It works on one branch of the head.

    Args:
        num_classes: Training identities; the trainer knows how many.
        feature_dim: Length of the head's embedding; likewise.
        weight: The loss's weight in the sum, at least 0; likewise.
        embedding_size: Length of the branch's features, where it is not the embedding's.
        form: ``full`` for the mean of ‖f − c‖² (Bag of Tricks), ``half`` for half of it (Wen et
            al.).
        center_lr: Learning rate of the centres, above 0.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Wen et al., "A Discriminative Feature Learning Approach for Deep Face Recognition",
        eq. 2; Luo et al., "Bag of Tricks", section 3.6, for the separate rate.
    """

    def __init__(
        self,
        *,
        num_classes: int | None = None,
        feature_dim: int | None = None,
        weight: float = 1.0,
        embedding_size: int | None = None,
        form: Form = "full",
        center_lr: float = 0.5,
    ) -> None:
        super().__init__()
        require_choice("center: form", form, get_args(Form))
        require_number("center: center_lr", center_lr, above=0, example=0.5)
        require_number("center: weight", weight, at_least=0, example=0.0005)
        self.feature_dim, classes = require_sizes(
            "center", feature_dim, num_classes, embedding_size=embedding_size
        )
        self.form = form
        self.center_lr = center_lr
        self.weight = weight
        self.centers = nn.Parameter(torch.randn(classes, self.feature_dim))
        self._distance: Tensor | None = None

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Compute the loss.

        Args:
            output: Its ``features`` are read, one branch (B, D).
            batch: Its ``pids`` (B,) int64 are read, 0 to num_classes − 1.

        Returns:
            () float32, or float64 when the features are.

        Raises:
            ConfigError: The head gave no features, several branches, or another length.
        """
        (features,) = single_feature_of(output, "center", self.feature_dim, "centres").values()
        with full_precision(features):
            values = at_least_float32(features)
            # Not self.centers[…]: its gradient is summed in another order on each run.
            centers = F.embedding(batch.pids, self.centers)
            of_features = self._mean_square(values - centers.detach())
            of_centers = self._mean_square(values.detach() - centers)
            self._distance = (values - centers).detach().norm(dim=1).mean()
            # The model multiplies by the weight; dividing here leaves the centres a whole gradient.
            # It is still scaled and unscaled like any other, as half precision needs.
            correction = 1 / self.weight if self.weight else 1.0
            return of_features + correction * (of_centers - of_centers.detach())

    def metrics(self) -> dict[str, Tensor]:
        """Describe the last call of :meth:`forward`.

        Returns:
            ``distance``, the mean Euclidean distance of a row to its centre, a detached () scalar;
            nothing before the first call.
        """
        return {} if self._distance is None else {"distance": self._distance}

    def parameter_groups(self) -> list[dict[str, object]]:
        """Give the centres to plain SGD at a constant rate of their own, without decay."""
        return [
            {
                "params": [self.centers],
                "optimizer": "sgd",
                "lr": self.center_lr,
                "weight_decay": 0.0,
                "momentum": 0.0,
                "is_scheduled": False,
            }
        ]

    def _mean_square(self, difference: Tensor) -> Tensor:
        mean = difference.square().sum(dim=1).mean()
        return mean / 2 if self.form == "half" else mean
