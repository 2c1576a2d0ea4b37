"""CosFace, also called AM-Softmax: a margin on the cosine."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from reid_plugin_heads.checks import require_within
from reid_plugin_heads.classifiers.base import Classifier, cosines


class CosFaceClassifier(Classifier):
    """``s · (cos θ − m)`` for the label, ``s · cos θ`` for the other classes.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0.
        margin: m, 0 to 2, in units of the cosine.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Wang et al., "CosFace: Large Margin Cosine Loss for Deep Face Recognition", eq. 4;
        Wang et al., "Additive Margin Softmax for Face Verification", the source of the
        defaults.
    """

    has_margin: ClassVar[bool] = True

    def __init__(
        self, *, embedding_dim: int, num_classes: int, scale: float = 30.0, margin: float = 0.35
    ) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, scale=scale)
        require_within("margin", margin, 0.0, 2.0)
        self.margin = margin

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return cosines; shapes as in :meth:`Classifier.similarity`."""
        return cosines(feature, weight)

    def margined(self, similarity: Tensor, is_label: Tensor) -> Tensor:
        """Take the margin off the label's cosine; shapes as in :meth:`Classifier.margined`."""
        return torch.where(is_label, similarity - self.margin, similarity)
