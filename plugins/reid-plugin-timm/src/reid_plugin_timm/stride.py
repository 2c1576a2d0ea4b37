"""The stride of a ResNet's last stage."""

from __future__ import annotations

from typing import Literal

from timm.models.resnet import BasicBlock, Bottleneck, ResNet
from torch import nn

from reid_core.errors import ConfigError


def set_last_stride(network: nn.Module, stride: Literal[1, 2], *, name: str) -> None:
    """Set the stride of a ResNet's last stage, weights untouched.

    With 1 the last map has twice the height and width (1/16 of the image), as re-identification
    baselines use it. This is not timm's ``output_stride=16``, which also dilates the stage's
    convolutions: here every kernel keeps its reach.

    Args:
        network: A timm ResNet (plain, wide, ResNeXt, SE, ECA, -D and so on) of basic or
            bottleneck blocks.
        stride: 1, or 2 to keep the stage as it is.
        name: The model's name, for the message.

    Raises:
        ConfigError: The network is not such a ResNet.

    Source: Luo et al., "Bag of Tricks and a Strong Baseline for Deep Person Re-Identification",
    CVPR Workshops 2019, section 3.5.
    """
    block = network.get_submodule("layer4.0") if isinstance(network, ResNet) else None
    if not isinstance(block, BasicBlock | Bottleneck):
        raise ConfigError(
            f"last_stride: {name!r} ({type(network).__name__}) has no last stage whose stride can "
            "be set; this needs a timm ResNet such as resnet50. Remove last_stride"
        )
    if stride == 1:
        _remove_stride(block)


def _remove_stride(block: BasicBlock | Bottleneck) -> None:
    strided = block.conv1 if isinstance(block, BasicBlock) else block.conv2
    strided.stride = (1, 1)
    # Anti-aliased variants blur and subsample after the convolution instead.
    block.aa = nn.Identity()
    block.stride = 1
    shortcut = block.get_submodule("downsample")
    for key, layer in shortcut.named_children():
        if isinstance(layer, nn.Conv2d):
            layer.stride = (1, 1)
        elif isinstance(layer, nn.AvgPool2d):
            shortcut.set_submodule(key, nn.Identity())
