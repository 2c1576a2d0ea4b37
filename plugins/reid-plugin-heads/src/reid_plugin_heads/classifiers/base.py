"""What all classifiers share: float32, a scale, and where the margin goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_plugin_heads.checks import require_above
from reid_plugin_heads.precision import at_least_float32, full_precision

#: Standard deviation of the class weights at the start, as FastReID's heads have it.
WEIGHT_STD = 0.01


class Classifier(nn.Module, ABC):
    """Compare embeddings with one weight vector a class, or several.

    ``scores = scale · similarity`` and, where labels are given,
    ``logits = scale · margined(similarity)``. Everything is computed in float32, under autocast
    too: a margin of 0.35 is a few hundred steps of bfloat16.

    A label outside of the classes, such as −1 for "unknown", gets no margin.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor of similarities, above 0.
        centers: Weight vectors a class, at least 1.

    Raises:
        ConfigError: A parameter is out of its range.
    """

    #: Whether logits differ from scores where labels are given.
    has_margin: ClassVar[bool] = False

    def __init__(
        self, *, embedding_dim: int, num_classes: int, scale: float, centers: int = 1
    ) -> None:
        super().__init__()
        require_above("scale", scale, 0.0)
        self.num_classes = num_classes
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(num_classes * centers, embedding_dim))
        nn.init.normal_(self.weight, std=WEIGHT_STD)

    def forward(self, feature: Tensor, pids: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Compute class scores.

        Args:
            feature: (B, D) floating point.
            pids: (B,) int64 labels; None puts no margin anywhere.

        Returns:
            ``logits`` with the margin, for the loss, and plain ``scores``, for accuracy: each
            (B, num_classes) float32, or float64 when the feature is; the same tensor twice without
            a margin.
        """
        with full_precision(feature):
            dtype = at_least_float32(feature, self.weight)
            similarity = self.similarity(feature.to(dtype), self.weight.to(dtype))
            scores = similarity * self.scale
            if pids is None or not self.has_margin:
                return scores, scores
            return self.margined(similarity, self._is_label(pids)) * self.scale, scores

    @abstractmethod
    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Compare each row with each class.

        Args:
            feature: (B, D) float32 or float64.
            weight: (num_classes · centers, D), same type.

        Returns:
            (B, num_classes), same type.
        """

    def margined(self, similarity: Tensor, is_label: Tensor) -> Tensor:
        """Put the margin on the similarities; without one, return them.

        Args:
            similarity: (B, num_classes) float32 or float64.
            is_label: (B, num_classes) bool, at most one true a row.

        Returns:
            (B, num_classes), same type.
        """
        return similarity

    def _is_label(self, pids: Tensor) -> Tensor:
        classes = torch.arange(self.num_classes, device=pids.device)
        return pids.unsqueeze(1) == classes


def cosines(feature: Tensor, weight: Tensor) -> Tensor:
    """Compute the cosine of each row of ``feature`` with each row of ``weight``.

    Args:
        feature: (B, D) float32 or float64.
        weight: (K, D), same type.

    Returns:
        (B, K), same type, within −1 and 1 up to rounding; 0 for a row of zeros.
    """
    return F.linear(unit_length(feature), unit_length(weight))


def unit_length(rows: Tensor) -> Tensor:
    """Scale each row to Euclidean length 1; a row of zeros stays, with gradient zero.

    Args:
        rows: (B, D) float32 or float64.

    Returns:
        (B, D), same type.
    """
    norms: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    # An infinite divisor gives value 0 and gradient 0; a small one would give a gradient as large
    # as its inverse.
    return rows / norms.masked_fill(norms == 0, torch.inf)
