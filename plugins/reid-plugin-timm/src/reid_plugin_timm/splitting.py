"""A timm network taken apart: a trunk that branches share, and a copy of the rest for each."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal, cast

from timm.models import checkpoint_seq
from timm.models.resnet import ResNet
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.stride import set_last_stride
from reid_plugin_timm.token_forward import is_plain_transformer

LastStrides = Sequence[Literal[1, 2] | None]


class ResNetBranch(nn.Module):
    """The last layers of a ResNet: the third stage but for its first block, and the fourth.

    Args:
        network: The ResNet, which is left as it is.
        last_stride: 1 keeps the resolution of the last stage; None leaves it.
        name: The model's name, for messages.
    """

    def __init__(self, network: ResNet, *, last_stride: Literal[1, 2] | None, name: str) -> None:
        super().__init__()
        rest = copy.deepcopy(network)
        if last_stride is not None:
            set_last_stride(rest, last_stride, name=name)
        self.layer3 = _part(rest.get_submodule("layer3"), first=False)
        self.layer4 = cast("nn.Sequential", rest.layer4)
        self._is_checkpointed = bool(network.grad_checkpointing)

    def forward(self, features: Tensor) -> Tensor:
        """Turn the trunk's map into the network's last map (B, C, h, w)."""
        if self._is_checkpointed:
            blocks = [*self.layer3, *self.layer4]
            return cast("Tensor", checkpoint_seq(blocks, features))
        output: Tensor = self.layer4(self.layer3(features))
        return output


def split_resnet(
    network: ResNet, last_strides: LastStrides, *, has_stride: bool, name: str
) -> tuple[nn.Module, list[nn.Module]]:
    """Take a ResNet apart after the first block of its third stage.

    Args:
        network: A timm ResNet, with IBN or non-local blocks or without; it is left as it is.
        last_strides: For each branch the stride of its last stage; None is what it has.
        has_stride: The last stage has its stride of 2.
        name: The model's name, for messages.

    Returns:
        The network up to there, to be called by ``forward_features``, and the branches.

    Raises:
        ConfigError: Stride 2 is asked for and was removed, or the stage's stride cannot be set.
    """
    if not has_stride and 2 in last_strides:
        raise ConfigError(
            "last_stride: 1 is set on the backbone, and the model wants a branch whose last stage "
            "has stride 2; remove last_stride from model.backbone, the branches set their own"
        )
    branches: list[nn.Module] = [
        ResNetBranch(network, last_stride=None if stride == 2 else stride, name=name)
        for stride in last_strides
    ]
    trunk = copy.deepcopy(network)
    trunk.layer3 = _part(trunk.get_submodule("layer3"), first=True)
    trunk.layer4 = nn.Sequential()
    return trunk, branches


def split_transformer(
    network: nn.Module, last_strides: LastStrides, *, final_norm: str | None, name: str
) -> tuple[nn.Module, list[nn.Module]]:
    """Take a vision transformer apart before its last block.

    A branch is the last block and the final normalisation. It takes any number of tokens.

    Args:
        network: A timm VisionTransformer; it is left as it is.
        last_strides: One None for each branch.
        final_norm: Name of the normalisation that timm keeps in the classifier head, or None.
        name: The model's name, for messages.

    Returns:
        The network up to there, to be called by ``forward_features``, and the branches.

    Raises:
        ConfigError: A stride is asked for, or there is only one block.
    """
    transformer = cast("VisionTransformer", network)
    if any(stride is not None for stride in last_strides):
        raise ConfigError(
            f"{name!r} is a transformer, whose last stage has no stride; the model asks for "
            f"{list(last_strides)}. Set the model's strides to null, or name a ResNet"
        )
    if len(transformer.blocks) < 2:
        raise ConfigError(f"{name!r} has one block only and cannot be split; name a deeper model")
    branches: list[nn.Module] = []
    for _ in last_strides:
        branch = nn.Sequential()
        branch.add_module("block", copy.deepcopy(transformer.blocks[-1]))
        branch.add_module("norm", copy.deepcopy(transformer.norm))
        if final_norm is not None:
            branch.add_module(final_norm, copy.deepcopy(network.get_submodule(final_norm)))
        branches.append(branch)
    trunk = copy.deepcopy(transformer)
    trunk.blocks = trunk.blocks[:-1]
    trunk.norm = nn.Identity()
    trunk.fc_norm = nn.Identity()
    if trunk.attn_pool is not None:
        trunk.set_submodule("attn_pool", nn.Identity())
    return trunk, branches


def split_network(
    network: nn.Module,
    last_strides: LastStrides,
    *,
    has_stride: bool,
    final_norm: str | None,
    name: str,
) -> tuple[nn.Module, list[nn.Module]]:
    """Take a network apart; see :func:`split_resnet` and :func:`split_transformer`.

    Raises:
        ConfigError: It is neither a ResNet nor a plain vision transformer.
    """
    if isinstance(network, ResNet):
        return split_resnet(network, last_strides, has_stride=has_stride, name=name)
    if is_plain_transformer(network):
        return split_transformer(network, last_strides, final_norm=final_norm, name=name)
    raise ConfigError(
        f"{name!r} ({type(network).__name__}) cannot be taken apart into trunk and branches; this "
        "works for timm's ResNets, such as resnet50, and plain vision transformers, such as "
        "vit_base_patch16_224 (no rotary or relative positions)"
    )


def _part(stage: nn.Module, *, first: bool) -> nn.Sequential:
    """Return the first block of a stage, with its non-local block, or all others."""
    part = nn.Sequential()
    for key, block in stage.named_children():
        if (key.partition("_")[0] == "0") == first:
            part.add_module(key, block)
    return part
