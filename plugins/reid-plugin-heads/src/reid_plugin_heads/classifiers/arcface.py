"""ArcFace: a margin on the angle."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from reid_plugin_heads.checks import require_choice, require_within
from reid_plugin_heads.classifiers.base import Classifier, cosines

PastPi = Literal["linear", "plain"]

#: The squared sine is at least this, so that its root has a finite gradient at cos = ±1.
EPSILON = 1e-12


class ArcFaceClassifier(Classifier):
    """``s · cos(θ + m)`` for the label, ``s · cos θ`` for the other classes.

    Past θ + m = π the cosine would rise again, and reward a worse angle. There ``linear`` takes
    ``cos θ − m·sin(π − m)`` instead, which keeps falling; ``plain`` stays with ``cos(θ + m)``, as
    FastReID does.

    The logits and their gradients are finite up to cos θ = ±1.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0.
        margin: m in radians, 0 to π.
        past_pi: What the label gets where θ + m is above π.

    Raises:
        ConfigError: A parameter is out of its range.

    Source: Deng et al., "ArcFace: Additive Angular Margin Loss for Deep Face Recognition", eq. 3;
        ``linear`` is in the code of its authors.
    """

    has_margin: ClassVar[bool] = True

    def __init__(
        self,
        *,
        embedding_dim: int,
        num_classes: int,
        scale: float = 64.0,
        margin: float = 0.5,
        past_pi: PastPi = "linear",
    ) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, scale=scale)
        require_angular_margin(margin, past_pi)
        self.margin = margin
        self.past_pi = past_pi

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return cosines; shapes as in :meth:`Classifier.similarity`."""
        return cosines(feature, weight)

    def margined(self, similarity: Tensor, is_label: Tensor) -> Tensor:
        """Widen the label's angle; shapes as in :meth:`Classifier.margined`."""
        widened = widened_cosine(similarity, self.margin, self.past_pi)
        return torch.where(is_label, widened, similarity)


def require_angular_margin(margin: float, past_pi: PastPi) -> None:
    """Refuse what :func:`widened_cosine` cannot take.

    Raises:
        ConfigError: ``margin`` is not within 0 and π, or no rule is called ``past_pi``.
    """
    require_within("margin", margin, 0.0, math.pi)
    require_choice("past_pi", past_pi, get_args(PastPi))


def widened_cosine(cosine: Tensor, margin: float, past_pi: PastPi) -> Tensor:
    """Compute cos(θ + m) from cos θ.

    Args:
        cosine: cos θ, any shape, float32 or float64, within −1 and 1 up to rounding.
        margin: m in radians, 0 to π.
        past_pi: What to give where θ + m is above π.

    Returns:
        The same shape and type; its gradient is finite everywhere.
    """
    # Not acos, whose gradient at ±1 is infinite and whose value just above 1 is not a number.
    sine = ((1 - cosine) * (1 + cosine)).clamp(min=EPSILON).sqrt()
    widened = cosine * math.cos(margin) - sine * math.sin(margin)
    if past_pi == "plain":
        return widened
    is_within_pi = cosine > math.cos(math.pi - margin)
    return torch.where(is_within_pi, widened, cosine - math.sin(math.pi - margin) * margin)
