"""The stride of a network's last stage."""

from __future__ import annotations

from typing import Literal, cast

from timm.models.efficientnet import EfficientNet
from timm.models.mobilenetv3 import MobileNetV3
from timm.models.regnet import RegNet
from timm.models.resnest import ResNestBottleneck
from timm.models.resnet import BasicBlock, Bottleneck, ResNet
from torch import nn

from reid_core.errors import ConfigError


def set_last_stride(network: nn.Module, stride: Literal[1, 2], *, name: str) -> None:
    """Set the stride of a network's last stage, weights untouched.

    With 1 the last map has twice the height and width (1/16 of the image), as re-identification
    baselines use it. This is not timm's ``output_stride=16``, which also dilates the stage's
    convolutions: here every kernel keeps its reach.

    Args:
        network: A timm ResNet (plain, wide, ResNeXt, SE, ECA, -D and so on) of basic or
            bottleneck blocks, ResNeSt, RegNet, EfficientNet or MobileNet.
        stride: 1, or 2 to keep the stage as it is.
        name: The model's name, for the message.

    Raises:
        ConfigError: The network is not one of these.

    Source: Luo et al., "Bag of Tricks and a Strong Baseline for Deep Person Re-Identification",
    CVPR Workshops 2019, section 3.5.
    """
    block = _strided_block(network)
    if block is None:
        raise ConfigError(
            f"last_stride: {name!r} ({type(network).__name__}) has no last stage whose stride can "
            "be set; this works for ResNet (basic and bottleneck blocks), ResNeSt, RegNet, "
            "EfficientNet and MobileNet, such as resnet50. Remove last_stride"
        )
    if stride == 1:
        remove_stride(block)


def remove_stride(block: nn.Module) -> None:
    """Let a strided block keep the resolution, in its shortcut too.

    Args:
        block: The first block of a stage of one of the networks above.
    """
    # Anti-aliased variants blur and subsample after the convolution.
    if isinstance(block, BasicBlock | Bottleneck):
        block.aa = nn.Identity()
        block.stride = 1
    # ResNeSt averages before or after its convolution, and goes on to do so at stride 1.
    for key in ("avd_first", "avd_last"):
        average = getattr(block, key, None)
        if isinstance(average, nn.AvgPool2d):
            average.stride = 1
    for key, layer in list(block.named_modules()):
        if isinstance(layer, nn.Conv2d) and layer.stride == (2, 2):
            layer.stride = (1, 1)
        elif isinstance(layer, nn.AvgPool2d) and key.startswith("downsample"):
            block.set_submodule(key, nn.Identity())


def _strided_block(network: nn.Module) -> nn.Module | None:
    if isinstance(network, ResNet):
        block = network.get_submodule("layer4.0")
        return block if isinstance(block, BasicBlock | Bottleneck | ResNestBottleneck) else None
    if isinstance(network, RegNet):
        return network.get_submodule("s4.b1")
    if isinstance(network, EfficientNet | MobileNetV3):
        stages = cast("nn.Sequential", network.get_submodule("blocks"))
        strided = [block for stage in stages for block in _children(stage) if _is_strided(block)]
        return strided[-1] if strided else None
    return None


def _children(stage: nn.Module) -> list[nn.Module]:
    return list(stage.children())


def _is_strided(block: nn.Module) -> bool:
    return any(isinstance(m, nn.Conv2d) and m.stride == (2, 2) for m in block.modules())
