"""The plain classifier: scalar products."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from reid_plugin_heads.classifiers.base import Classifier


class LinearClassifier(Classifier):
    """Scalar products ``s · wᵀx``, without bias.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0.

    Raises:
        ConfigError: The scale is out of its range.

    Source: the linear layer of Luo et al., "Bag of Tricks and A Strong Baseline for Deep Person
        Re-identification", section 3.5; the scale is FastReID's.
    """

    def __init__(self, *, embedding_dim: int, num_classes: int, scale: float = 1.0) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, scale=scale)

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return scalar products; shapes as in :meth:`Classifier.similarity`."""
        return F.linear(feature, weight)
