"""The pooling layers by the names that configs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

from torch import nn

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.attention import AttentionPooling
from reid_plugin_heads.pooling.class_token import ClassTokenPooling
from reid_plugin_heads.pooling.gem import EXPONENT, GemPooling, LearnedGemPooling
from reid_plugin_heads.pooling.mean_max import (
    AvgMaxPooling,
    AvgPooling,
    ClippedAvgPooling,
    MaxPooling,
)
from reid_plugin_heads.pooling.token_mean import TokenMeanPooling

PoolingName = Literal[
    "avg",
    "max",
    "avg_max",
    "clipped_avg",
    "gem",
    "gem_learned",
    "class_token",
    "token_mean",
    "attention",
]

#: Those without parameters of their own.
_POOLINGS: Mapping[str, Callable[[FeatureLayout], nn.Module]] = MappingProxyType(
    {
        "avg": AvgPooling,
        "max": MaxPooling,
        "avg_max": AvgMaxPooling,
        "clipped_avg": ClippedAvgPooling,
        "class_token": ClassTokenPooling,
        "token_mean": TokenMeanPooling,
        "attention": AttentionPooling,
    }
)


def build_pooling(
    name: PoolingName, layout: FeatureLayout, *, gem_exponent: float | None = None
) -> nn.Module:
    """Build a pooling layer.

    Args:
        name: Which one.
        layout: How the backbone lays out its features.
        gem_exponent: Exponent of ``gem``, and of ``gem_learned`` at the start, above 0; None is 3.

    Returns:
        A module from a map (B, C, h, w) or tokens (B, N, C), as the layout says, to (B, C) float32.

    Raises:
        ConfigError: No pooling has that name, the backbone lacks the tokens it needs, or an
            exponent is given to a pooling without one.
    """
    require_choice("pooling", name, get_args(PoolingName))
    if name in ("gem", "gem_learned"):
        gem = GemPooling if name == "gem" else LearnedGemPooling
        return gem(layout, exponent=EXPONENT if gem_exponent is None else gem_exponent)
    if gem_exponent is not None:
        raise ConfigError(
            f"gem_exponent: got {gem_exponent}, but pooling {name} has no exponent; remove it, or "
            "set pooling: gem or pooling: gem_learned"
        )
    return _POOLINGS[name](layout)
