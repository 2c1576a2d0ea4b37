"""The class token in place of a pooled vector."""

from __future__ import annotations

from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import accumulation_dtype


class ClassTokenPooling(nn.Module):
    """Take the first token of each image, which transformers train to describe the whole of it.

    A backbone whose prefix tokens are registers alone has no class token, and this layer cannot
    tell: it would return the first register.

    Args:
        layout: How the backbone lays out its features.

    Raises:
        ConfigError: The backbone returns a map, or tokens without a prefix token.
    """

    def __init__(self, layout: FeatureLayout) -> None:
        super().__init__()
        if not layout.num_prefix_tokens:
            returns = (
                "a feature map"
                if layout.num_prefix_tokens is None
                else "patch tokens without a prefix token"
            )
            raise ConfigError(
                "pooling: class_token takes the first prefix token of a backbone, and this "
                f"backbone returns {returns}; use pooling: avg, or a backbone with a class token"
            )
        self.layout = layout

    def forward(self, features: Tensor) -> Tensor:
        """Pick the class token.

        Args:
            features: Tokens (B, N, C), floating point.

        Returns:
            (B, C) float32, or float64 when the features are.

        Raises:
            PluginError: The features have another shape than the layout.
        """
        token = self.layout.class_token(features)
        return token.to(accumulation_dtype(token))
