"""The backbone component: a timm model with what re-identification needs done to it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.build import build_network
from reid_plugin_timm.checkpointing import set_checkpointing
from reid_plugin_timm.conditioned import Conditioned
from reid_plugin_timm.ibn import add_ibn
from reid_plugin_timm.layer_groups import find_layer_groups
from reid_plugin_timm.layout import find_layout
from reid_plugin_timm.non_local import add_non_local
from reid_plugin_timm.side_information import SideInformation, refuse_table
from reid_plugin_timm.splitting import split_network
from reid_plugin_timm.stem_pool import pool_without_padding
from reid_plugin_timm.stride import set_last_stride
from reid_plugin_timm.token_forward import check_token_forward, token_dim
from reid_plugin_timm.weights import load_weights


class TimmBackbone(Conditioned):
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
            names, or torchvision's for ResNets and MobileNetV2, or IBN-Net's and FastReID's for
            ResNets. The classifier is left out; position tables are resized.
        weights_grid: Rows and columns of the patches that ``weights`` was trained with; None:
            as many as here, a square, or what the aspect ratio of the images leaves over.
        last_stride: 1 keeps the resolution of the last stage of a ResNet, ResNeSt, RegNet,
            EfficientNet or MobileNet: the stride of its first block is removed, in the shortcut
            too, and no convolution is dilated (timm's ``output_stride`` would). None and 2 leave
            the model as it is.
        stem_pool: ``"ceil"``: the stem of a ResNet pools without padding, as FastReID's do;
            ``"padded"``: as everybody's else.
        patch_stride: Pixels between neighbouring patches of a vision transformer, 1..patch size;
            12 with patches of 16 makes them overlap as in TransReID. None: side by side.
        drop_path_rate: Stochastic depth, 0 ≤ rate < 1; None keeps the model's default.
        gradient_checkpointing: Compute the blocks again in the backward pass, to save memory.
        ibn: Instance-batch normalisation of a ResNet, variant a or b; loaded weights carry over.
        non_local: How many of the last blocks of each of a ResNet's four stages are followed by
            a non-local block; [0, 2, 3, 0] is AGW's for ResNet-50.
        non_local_channels: Inner width of these: half of the channels, or one, as the released
            weights of AGW and FastReID have it.
        sie: A learned vector for camera, view or both, added to the tokens of a vision
            transformer.
        sie_weight: Its factor λ > 0.
        sie_tokens: Tokens that it is added to: all, or the class token.
        sie_reset: Start its table anew where the one of ``weights`` is of other cameras.
        num_cameras: Cameras of the training sets, None where unknown.
        num_views: Views of the training sets, None where unknown.

    Attributes:
        feature_dim: Channels of the output, as the model returns them.
        num_prefix_tokens: Class and register tokens before the patch tokens; None for a map.
        conditions: What ``forward`` wants besides the images, of ``camids`` and ``viewids``.

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
        weights_grid: tuple[int, int] | None = None,
        last_stride: Literal[1, 2] | None = None,
        stem_pool: Literal["padded", "ceil"] = "padded",
        patch_stride: int | None = None,
        drop_path_rate: float | None = None,
        gradient_checkpointing: bool = False,
        ibn: Literal["a", "b"] | None = None,
        non_local: Sequence[int] | None = None,
        non_local_channels: Literal["half", "one"] = "half",
        sie: Literal["camera", "view", "camera_view"] | None = None,
        sie_weight: float = 3.0,
        sie_tokens: Literal["all", "class"] = "all",
        sie_reset: bool = False,
        num_cameras: int | None = None,
        num_views: int | None = None,
    ) -> None:
        _check_parameters(pretrained, weights, weights_grid, drop_path_rate)
        network = build_network(
            model_name,
            image_size,
            pretrained=pretrained,
            drop_path_rate=drop_path_rate,
            patch_stride=patch_stride,
        )
        if ibn is not None:
            add_ibn(network, ibn, name=model_name)
        if non_local is not None:
            add_non_local(network, non_local, channels=non_local_channels, name=model_name)
        if sie is not None:
            check_token_forward(network, sie_tokens, name=model_name)
        super().__init__(
            network,
            None
            if sie is None
            else SideInformation(
                kind=sie,
                num_cameras=num_cameras,
                num_views=num_views,
                feature_dim=token_dim(network),
                weight=sie_weight,
                tokens=sie_tokens,
            ),
            is_table_reset=sie_reset,
        )
        if weights is not None:
            self._load(weights, weights_grid, sie_reset)
        if last_stride is not None:
            set_last_stride(network, last_stride, name=model_name)
        if stem_pool == "ceil":
            pool_without_padding(network, name=model_name)
        self._name = model_name
        self._has_stride = last_stride != 1
        self._layout = find_layout(network, image_size, name=model_name)
        self.feature_dim: int = self._layout.feature_dim
        self.num_prefix_tokens: int | None = self._layout.num_prefix_tokens
        if gradient_checkpointing:
            # Afterwards: finding the layout follows the graph, which checkpoints may hide.
            self.set_grad_checkpointing()

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Compute the blocks again in the backward pass, or keep their activations.

        Args:
            enable: Whether they are computed again.

        Raises:
            ConfigError: timm does not offer it for this architecture.
        """
        set_checkpointing(self.model, name=self._name, enable=enable)

    def forward(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return the last features.

        Args:
            images: (B, 3, H, W) float32, normalised as the model was trained.
            camids: (B,) int64, 0..num_cameras-1, where ``conditions`` names it.
            viewids: (B,) int64, 0..num_views-1, where ``conditions`` names it.

        Returns:
            A map (B, ``feature_dim``, h, w) where ``num_prefix_tokens`` is None, otherwise tokens
            (B, N, ``feature_dim``), float32 outside mixed precision.

        Raises:
            ConfigError: ``conditions`` names something that was not given.
        """
        return self._layout.finish(self.model, super().forward(images, camids, viewids))

    def split(
        self, *, last_strides: Sequence[Literal[1, 2] | None]
    ) -> tuple[nn.Module, list[nn.Module]]:
        """Take the backbone apart; it is left as it is, and all parts are copies.

        ResNets are split after the first block of the third stage, vision transformers before
        their last block.

        Args:
            last_strides: For each branch the stride of its last stage; None is what it has.

        Returns:
            The trunk, called as the backbone is, and for each branch a copy of the rest, which
            turns what the trunk returns into what the backbone would.

        Raises:
            ConfigError: The model cannot be taken apart, or not with these strides.
        """
        trunk, branches = split_network(
            self.model,
            last_strides,
            has_stride=self._has_stride,
            final_norm=self._layout.norm,
            name=self._name,
        )
        conditioned = Conditioned(
            trunk,
            copy.deepcopy(self.side_information),
            is_table_reset=self._is_table_reset,
        )
        return conditioned, branches

    def layer_groups(self) -> list[list[str]]:
        """Return the names of the parameters as lists by depth, from the images on."""
        groups = [[f"model.{key}" for key in group] for group in find_layer_groups(self.model)]
        if self.side_information is not None:
            groups[0].append("side_information.table")
        return groups

    def _load(self, weights: str, weights_grid: tuple[int, int] | None, sie_reset: bool) -> None:
        table = load_weights(self.model, weights, weights_grid=weights_grid).table
        if self.side_information is None:
            refuse_table(table, source=weights)
        else:
            self.side_information.load_table(table, source=weights, reset=sie_reset)


def _check_parameters(
    pretrained: bool,
    weights: str | None,
    weights_grid: tuple[int, int] | None,
    drop_path_rate: float | None,
) -> None:
    if pretrained and weights is not None:
        raise ConfigError(
            f"pretrained: true and weights: {weights} are both given; keep one of them"
        )
    if weights_grid is not None and weights is None:
        raise ConfigError(
            f"weights_grid: {list(weights_grid)} describes a file, and there is no weights: "
            "remove it; timm knows the grid of its published weights"
        )
    if drop_path_rate is not None and not 0 <= drop_path_rate < 1:
        raise ConfigError(f"drop_path_rate: got {drop_path_rate}, expected 0 ≤ rate < 1")
