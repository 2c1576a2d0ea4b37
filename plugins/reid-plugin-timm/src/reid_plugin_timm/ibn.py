"""Instance-batch normalisation (IBN-a, IBN-b), put into a timm ResNet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import torch
from timm.models.resnet import BasicBlock, Bottleneck, ResNet
from torch import Tensor, nn

from reid_core.errors import ConfigError

#: Stages that get the mixed normalisation of IBN-a, and the instance normalisation of IBN-b.
_STAGES = {"a": ("layer1", "layer2", "layer3"), "b": ("layer1", "layer2")}
#: Children of a block on the way to the sum, in order; some may be missing.
_PATHS: Mapping[type[nn.Module], tuple[str, ...]] = {
    BasicBlock: ("conv1", "bn1", "drop_block", "act1", "aa", "conv2", "bn2", "se", "drop_path"),
    Bottleneck: (
        *("conv1", "bn1", "act1", "conv2", "bn2", "drop_block", "act2", "aa"),
        *("conv3", "bn3", "se", "drop_path"),
    ),
}


class InstanceBatchNorm(nn.Module):
    """Instance normalisation of the first half of the channels, batch normalisation of the rest.

    Args:
        norm: The batch normalisation it replaces; weight, bias and statistics carry over.

    Source: Pan et al., "Two at Once: Enhancing Learning and Generalization Capacities via
    IBN-Net", ECCV 2018, figure 3a. Key names are those of the authors' released weights.
    """

    def __init__(self, norm: nn.BatchNorm2d) -> None:
        super().__init__()
        half = norm.num_features // 2
        self.IN = nn.InstanceNorm2d(half, eps=norm.eps, affine=True)
        self.BN = nn.BatchNorm2d(norm.num_features - half, eps=norm.eps, momentum=norm.momentum)
        self.load_state_dict(split_norm_state(norm.state_dict()))

    def forward(self, features: Tensor) -> Tensor:
        """Normalise (B, C, h, w); same shape and dtype."""
        half = self.IN.num_features
        return torch.cat([self.IN(features[:, :half]), self.BN(features[:, half:])], dim=1)


class InstanceNormBlock(nn.Module):
    """A residual block whose sum is instance-normalised before the last activation.

    Args:
        block: The block it replaces; its parts keep their names.

    Source: Pan et al., ECCV 2018, figure 3b.
    """

    def __init__(self, block: BasicBlock | Bottleneck) -> None:
        super().__init__()
        for name, child in block.named_children():
            self.add_module(name, child)
        last = "conv2" if isinstance(block, BasicBlock) else "conv3"
        channels = cast("nn.Conv2d", block.get_submodule(last)).out_channels
        self.IN = nn.InstanceNorm2d(channels, affine=True)
        self._path = _PATHS[BasicBlock if isinstance(block, BasicBlock) else Bottleneck]
        self._last_activation = "act2" if isinstance(block, BasicBlock) else "act3"

    def forward(self, features: Tensor) -> Tensor:
        """Return the block's output for (B, C, h, w)."""
        output = features
        for name in self._path:
            output = self._apply_part(name, output)
        output = output + self._apply_part("downsample", features)
        return self._apply_part(self._last_activation, self.IN(output))

    def _apply_part(self, name: str, features: Tensor) -> Tensor:
        part = self._modules.get(name)
        return features if part is None else part(features)


def add_ibn(network: nn.Module, kind: Literal["a", "b"], *, name: str) -> None:
    """Put IBN into a ResNet; weights it has carry over.

    ``"a"``: in each block of the first three stages, half of the channels of the first
    normalisation become instance-normalised. ``"b"``: the stem's normalisation becomes an instance
    normalisation, and the sums at the ends of the first two stages get one.

    Args:
        network: A timm ResNet of basic or bottleneck blocks (plain, ResNeXt, SE, ECA, -D, wide).
        kind: Which of the two.
        name: The model's name, for the message.

    Raises:
        ConfigError: The network is not such a ResNet with batch normalisation.
    """
    if not isinstance(network, ResNet) or type(network.bn1) is not nn.BatchNorm2d:
        raise _unsupported(network, name)
    blocks = {
        f"{stage}.{key}": _checked(block, network, name)
        for stage in _STAGES[kind]
        for key, block in network.get_submodule(stage).named_children()
    }
    if kind == "a":
        for block in blocks.values():
            block.bn1 = InstanceBatchNorm(cast("nn.BatchNorm2d", block.bn1))
        return
    network.bn1 = _instance_norm(network.bn1)
    ends = {key.partition(".")[0]: key for key in blocks}
    for key in ends.values():
        network.set_submodule(key, InstanceNormBlock(blocks[key]))


def split_norm_state(state: Mapping[str, Tensor], prefix: str = "") -> dict[str, Tensor]:
    """Return the state of a batch normalisation under the keys of :class:`InstanceBatchNorm`.

    Args:
        state: Holds ``<prefix>weight``, ``<prefix>bias`` and the statistics, each (C,).
        prefix: What stands before the keys, with its dot.
    """
    half = state[f"{prefix}weight"].shape[0] // 2
    split = {f"{prefix}IN.{key}": state[f"{prefix}{key}"][:half] for key in ("weight", "bias")}
    for key in ("weight", "bias", "running_mean", "running_var"):
        split[f"{prefix}BN.{key}"] = state[f"{prefix}{key}"][half:]
    counter = state.get(f"{prefix}num_batches_tracked")
    return split if counter is None else {**split, f"{prefix}BN.num_batches_tracked": counter}


def _instance_norm(norm: nn.BatchNorm2d) -> nn.InstanceNorm2d:
    replacement = nn.InstanceNorm2d(norm.num_features, eps=norm.eps, affine=True)
    replacement.load_state_dict({"weight": norm.weight, "bias": norm.bias})
    return replacement


def _checked(block: nn.Module, network: nn.Module, name: str) -> BasicBlock | Bottleneck:
    if isinstance(block, BasicBlock | Bottleneck) and type(block.bn1) is nn.BatchNorm2d:
        return block
    raise _unsupported(network, name)


def _unsupported(network: nn.Module, name: str) -> ConfigError:
    return ConfigError(
        f"ibn: {name!r} ({type(network).__name__}) has no residual blocks that can take it; this "
        "needs a timm ResNet of basic or bottleneck blocks with batch normalisation, such as "
        "resnet50, resnext50_32x4d or seresnet50. Remove ibn"
    )
