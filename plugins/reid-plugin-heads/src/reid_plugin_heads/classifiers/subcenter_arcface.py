"""Sub-center ArcFace: several weight vectors a class, the nearest counts."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from reid_plugin_heads.checks import require_positive
from reid_plugin_heads.classifiers.arcface import PastPi, require_angular_margin, widened_cosine
from reid_plugin_heads.classifiers.base import Classifier, cosines


class SubCenterArcFaceClassifier(Classifier):
    """ArcFace on ``cos θ = max over k of cos θₖ``, with K centres a class.

    Images with a wrong label gather at a centre of their own in place of pulling the class's
    main one.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0.
        margin: m in radians, 0 to π.
        centers: K, at least 1; 1 is ArcFace.
        past_pi: What the label gets where θ + m is above π; see
            :class:`~reid_plugin_heads.classifiers.arcface.ArcFaceClassifier`.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Deng et al., "Sub-center ArcFace: Boosting Face Recognition by Large-Scale Noisy Web
        Faces", section 3.2.
    """

    has_margin: ClassVar[bool] = True

    def __init__(
        self,
        *,
        embedding_dim: int,
        num_classes: int,
        scale: float = 64.0,
        margin: float = 0.5,
        centers: int = 3,
        past_pi: PastPi = "linear",
    ) -> None:
        require_positive("centers", centers)
        require_angular_margin(margin, past_pi)
        super().__init__(
            embedding_dim=embedding_dim, num_classes=num_classes, scale=scale, centers=centers
        )
        self.margin = margin
        self.centers = centers
        self.past_pi = past_pi

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return the largest cosine of each class; shapes as in :meth:`Classifier.similarity`.

        Rows cK to cK + K − 1 of ``weight`` are the centres of class c.
        """
        each = cosines(feature, weight).reshape(-1, self.num_classes, self.centers)
        # Not amax: it would spread the gradient over ties.
        nearest: Tensor = each.max(dim=2).values
        return nearest

    def margined(self, similarity: Tensor, is_label: Tensor) -> Tensor:
        """Widen the label's angle; shapes as in :meth:`Classifier.margined`."""
        widened = widened_cosine(similarity, self.margin, self.past_pi)
        return torch.where(is_label, widened, similarity)
