"""CircleSoftmax: the circle loss with class weights in place of pairs."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from reid_plugin_heads.checks import require_within
from reid_plugin_heads.classifiers.base import Classifier, cosines


class CircleSoftmaxClassifier(Classifier):
    """Weigh each cosine by how far it is from where it should be.

    With αₚ = max(1 + m − cos θ, 0) and αₙ = max(cos θ + m, 0), through which no gradient flows:
    ``s · αₚ · (cos θ − (1 − m))`` for the label, ``s · αₙ · (cos θ − m)`` for the other classes.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0; the paper's γ.
        margin: m, 0 to 1, in units of the cosine.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Sun et al., "Circle Loss: A Unified Perspective of Pair Similarity Optimization",
        section 3, with class-level labels; the defaults are those of FastReID's SBS recipe.
    """

    has_margin: ClassVar[bool] = True

    def __init__(
        self, *, embedding_dim: int, num_classes: int, scale: float = 64.0, margin: float = 0.35
    ) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, scale=scale)
        require_within("margin", margin, 0.0, 1.0)
        self.margin = margin

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return cosines; shapes as in :meth:`Classifier.similarity`."""
        return cosines(feature, weight)

    def margined(self, similarity: Tensor, is_label: Tensor) -> Tensor:
        """Weigh every cosine; shapes as in :meth:`Classifier.margined`."""
        fixed = similarity.detach()
        positive = (1 + self.margin - fixed).relu() * (similarity - (1 - self.margin))
        negative = (fixed + self.margin).relu() * (similarity - self.margin)
        return torch.where(is_label, positive, negative)
