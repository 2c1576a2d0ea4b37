"""The pooling layers by the names that configs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from torch import nn

from reid_plugin_heads.checks import require_choice
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.class_token import ClassTokenPooling
from reid_plugin_heads.pooling.gem import GemPooling, LearnedGemPooling
from reid_plugin_heads.pooling.mean_max import AvgMaxPooling, AvgPooling, MaxPooling

PoolingName = Literal["avg", "max", "avg_max", "gem", "gem_learned", "class_token"]

_POOLINGS: Mapping[str, Callable[[FeatureLayout], nn.Module]] = MappingProxyType(
    {
        "avg": AvgPooling,
        "max": MaxPooling,
        "avg_max": AvgMaxPooling,
        "gem": GemPooling,
        "gem_learned": LearnedGemPooling,
        "class_token": ClassTokenPooling,
    }
)


def build_pooling(name: PoolingName, layout: FeatureLayout) -> nn.Module:
    """Build a pooling layer.

    Args:
        name: Which one.
        layout: How the backbone lays out its features.

    Returns:
        A module from a map (B, C, h, w) or tokens (B, N, C), as the layout says, to (B, C) float32.

    Raises:
        ConfigError: No pooling has that name, or the backbone lacks the token it needs.
    """
    require_choice("pooling", name, list(_POOLINGS))
    return _POOLINGS[name](layout)
