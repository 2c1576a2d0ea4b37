"""Attention pooling: a learned query says which positions count."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import Pooling, accumulation_dtype
from reid_plugin_heads.precision import full_precision


class AttentionPooling(Pooling):
    """Weighted mean ``Σ aᵢ·xᵢ`` with ``a = softmax over i of qᵀxᵢ/√C``, q learned.

    The query starts at 0, so that training starts from average pooling.

    Args:
        layout: How the backbone lays out its features.

    Source: Lee et al., "Set Transformer", section 3.2, with one seed, one head and no projections.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__(layout)
        self.query = nn.Parameter(torch.zeros(layout.feature_dim))

    def reduce(self, values: Tensor) -> Tensor:
        """Return the weighted mean of the last axis; shapes as in :meth:`Pooling.reduce`."""
        dtype = accumulation_dtype(values)
        with full_precision(values):
            values = values.to(dtype)
            query = self.query.to(dtype) / math.sqrt(self.layout.feature_dim)
            weights = torch.matmul(query, values).softmax(dim=-1)
            return torch.matmul(values, weights.unsqueeze(-1)).squeeze(-1)
