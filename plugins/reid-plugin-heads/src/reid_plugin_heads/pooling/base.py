"""What all pooling layers share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from reid_plugin_heads.layout import FeatureLayout


class Pooling(nn.Module, ABC):
    """Reduce the positions of each image to one vector.

    A subclass implements :meth:`reduce` and sees maps and tokens alike.

    Args:
        layout: How the backbone lays out its features.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__()
        self.layout = layout

    def forward(self, features: Tensor) -> Tensor:
        """Pool one batch.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), as the layout says, floating point.

        Returns:
            (B, C) float32, or float64 when the features are.

        Raises:
            PluginError: The features have another shape than the layout.
        """
        return self.reduce(self.layout.positions(features))

    @abstractmethod
    def reduce(self, values: Tensor) -> Tensor:
        """Reduce the last axis.

        Args:
            values: (B, C, L), floating point.

        Returns:
            (B, C) float32, or float64 when the values are.
        """


def accumulation_dtype(values: Tensor) -> torch.dtype:
    """Return the type to sum ``values`` in: float32, or float64 when they are float64.

    Half precision holds 8 or 11 bits: a sum over some hundred positions would lose most of them,
    and the distances of metric losses are small differences of what comes out here.
    """
    return torch.promote_types(values.dtype, torch.float32)
