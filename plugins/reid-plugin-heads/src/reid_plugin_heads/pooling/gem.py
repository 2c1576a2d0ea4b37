"""Generalised mean pooling, with a fixed or a learned exponent."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reid_plugin_heads.checks import require_above
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import Pooling, accumulation_dtype

#: Exponent p of the fixed form, and where the learned one starts, unless another is given.
EXPONENT = 3.0
#: Values are raised to at least this, so that powers and their gradients stay finite.
EPSILON = 1e-6


class GemPooling(Pooling):
    """Generalised mean ``(mean xᵖ)^(1/p)``: between the mean (p = 1) and the maximum (p = ∞).

    Values below 1e-6, so all negative ones, count as 1e-6. That fits maps that end in a ReLU;
    tokens that end in a layer norm lose their negative half.

    Args:
        layout: How the backbone lays out its features.
        exponent: p, above 0.

    Raises:
        ConfigError: The exponent is out of its range.

    Source: Radenović et al., "Fine-tuning CNN Image Retrieval with No Human Annotation", eq. 3.
    """

    def __init__(self, layout: FeatureLayout, *, exponent: float = EXPONENT) -> None:
        super().__init__(layout)
        require_above("gem_exponent", exponent, 0.0)
        self.exponent = exponent

    def reduce(self, values: Tensor) -> Tensor:
        """Return the generalised mean of the last axis; shapes as in :meth:`Pooling.reduce`."""
        return generalised_mean(values, self.exponent)


class LearnedGemPooling(Pooling):
    """Generalised mean as :class:`GemPooling`, whose exponent ``p`` is learned.

    Args:
        layout: How the backbone lays out its features.
        exponent: p at the start, above 0.

    Raises:
        ConfigError: The exponent is out of its range.

    Source: Radenović et al., "Fine-tuning CNN Image Retrieval with No Human Annotation", eq. 3.
    """

    def __init__(self, layout: FeatureLayout, *, exponent: float = EXPONENT) -> None:
        super().__init__(layout)
        require_above("gem_exponent", exponent, 0.0)
        self.p = nn.Parameter(torch.full((1,), float(exponent)))

    def reduce(self, values: Tensor) -> Tensor:
        """Return the generalised mean of the last axis; shapes as in :meth:`Pooling.reduce`."""
        return generalised_mean(values, self.p)


def generalised_mean(values: Tensor, exponent: float | Tensor) -> Tensor:
    """Compute ``(mean max(x, 1e-6)ᵖ)^(1/p)`` over the last axis.

    Args:
        values: (B, C, L), floating point.
        exponent: p, a number above 0 or a tensor (1,).

    Returns:
        (B, C) float32, or float64 when the values are.
    """
    # float16 ends at 6e-8: the cube of 1e-6 needs float32.
    floored = values.to(accumulation_dtype(values)).clamp(min=EPSILON)
    mean: Tensor = floored.pow(exponent).mean(dim=-1)
    return mean.pow(1.0 / exponent)
