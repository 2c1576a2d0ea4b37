"""The mean of a transformer's patch tokens."""

from __future__ import annotations

from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import Pooling, accumulation_dtype


class TokenMeanPooling(Pooling):
    """Mean over the patch tokens, class and register tokens left out.

    The same as average pooling, under a name that says what is averaged; it refuses maps.

    Args:
        layout: How the backbone lays out its features.

    Raises:
        ConfigError: The backbone returns a map.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__(layout)
        if layout.num_prefix_tokens is None:
            raise ConfigError(
                "pooling: token_mean averages the patch tokens of a transformer, and this backbone "
                "returns a feature map; use pooling: avg, or a backbone with tokens"
            )

    def reduce(self, values: Tensor) -> Tensor:
        """Return the mean over the last axis; shapes as in :meth:`Pooling.reduce`."""
        return values.mean(dim=-1, dtype=accumulation_dtype(values))
