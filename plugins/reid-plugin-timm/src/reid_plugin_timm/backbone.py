"""The backbone component: a timm model with what re-identification needs done to it."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.build import build_network
from reid_plugin_timm.layout import find_layout, last_features
from reid_plugin_timm.stride import set_last_stride
from reid_plugin_timm.weights import load_weights


class TimmBackbone(nn.Module):
    """Any timm model, up to its last features: no pooling, no classifier.

    Convolutional networks and Swin-like ones return a map, vision transformers tokens. A final
    normalisation that timm places after the pooling (ConvNeXt, average-pooled ViTs) is applied to
    each position, for the pooling is the head's. Building draws no random numbers but the
    initial weights.

    Args:
        model_name: A timm model name, ``architecture`` or ``architecture.tag``; also
            ``hf-hub:<repository>`` or ``local-dir:<folder>``.
        image_size: Height and width of the images in pixels.
        pretrained: Load timm's published weights, from the hub's cache or over the network.
        weights: Local file to load instead (``.pth``, ``.pt``, ``.safetensors``), with timm's key
            names, or torchvision's for ResNets and MobileNetV2. The classifier is left out;
            position tables are resized.
        last_stride: 1 keeps the resolution of a ResNet's last stage: the stride of its first
            block is removed, in the shortcut too, and no convolution is dilated (timm's
            ``output_stride`` would). None and 2 leave the model as it is.
        drop_path_rate: Stochastic depth, 0 ≤ rate < 1; None keeps the model's default.

    Attributes:
        feature_dim: Channels of the output, as the model returns them.
        num_prefix_tokens: Class and register tokens before the patch tokens; None for a map.

    Raises:
        ConfigError: Unknown model name, or a parameter the model cannot take.
        CheckpointError: Weights could not be fetched, read or fitted.
    """

    def __init__(
        self,
        *,
        model_name: str,
        image_size: tuple[int, int],
        pretrained: bool = False,
        weights: str | None = None,
        last_stride: Literal[1, 2] | None = None,
        drop_path_rate: float | None = None,
    ) -> None:
        super().__init__()
        if pretrained and weights is not None:
            raise ConfigError(
                f"pretrained: true and weights: {weights} are both given; keep one of them"
            )
        if drop_path_rate is not None and not 0 <= drop_path_rate < 1:
            raise ConfigError(f"drop_path_rate: got {drop_path_rate}, expected 0 ≤ rate < 1")
        self.model = build_network(
            model_name, image_size, pretrained=pretrained, drop_path_rate=drop_path_rate
        )
        if weights is not None:
            load_weights(self.model, weights)
        if last_stride is not None:
            set_last_stride(self.model, last_stride, name=model_name)
        self._layout = find_layout(self.model, image_size, name=model_name)
        self.feature_dim: int = self._layout.feature_dim
        self.num_prefix_tokens: int | None = self._layout.num_prefix_tokens

    def forward(self, images: Tensor) -> Tensor:
        """Return the last features.

        Args:
            images: (B, 3, H, W) float32, normalised as the model was trained.

        Returns:
            A map (B, ``feature_dim``, h, w) where ``num_prefix_tokens`` is None, otherwise tokens
            (B, N, ``feature_dim``), float32 outside mixed precision.
        """
        return self._layout.finish(self.model, last_features(self.model, images))
