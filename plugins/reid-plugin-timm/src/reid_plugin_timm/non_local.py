"""Non-local blocks, put into a timm ResNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import torch
from timm.models.resnet import ResNet
from torch import Tensor, nn

from reid_core.errors import ConfigError

#: How a non-local block is called in its stage, after the number of the block that it follows.
#: timm's patterns of layer groups still read the number.
SUFFIX = "_non_local"


class NonLocal(nn.Module):
    """Every position looks at all others: z = x + BN(W y).

    y_i = 1/N · Σ_j (θ(x_i) · φ(x_j)) g(x_j) over the N positions, with 1×1 convolutions θ, φ, g
    and W. The last normalisation starts at 0, so a new block is the identity. As there is no
    softmax, the sum is (g φᵀ / N) θ, which costs C'² · N and not C' · N².

    Args:
        channels: Channels C of the map.
        inner_channels: Channels C' of θ, φ and g.

    Source: Wang et al., "Non-local Neural Networks", CVPR 2018, equations 1 and 4 (dot product)
    and section 4.1; as used by Ye et al., "Deep Learning for Person Re-identification: A Survey
    and Outlook" (AGW), 2020. Key names are those of the released AGW and FastReID weights.
    """

    def __init__(self, channels: int, *, inner_channels: int) -> None:
        super().__init__()
        self.g = nn.Conv2d(channels, inner_channels, 1)
        self.theta = nn.Conv2d(channels, inner_channels, 1)
        self.phi = nn.Conv2d(channels, inner_channels, 1)
        last = nn.BatchNorm2d(channels)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.W = nn.Sequential(nn.Conv2d(inner_channels, channels, 1), last)

    def forward(self, features: Tensor) -> Tensor:
        """Return (B, C, h, w) for a map (B, C, h, w)."""
        values, queries, keys = (
            part(features).flatten(2) for part in (self.g, self.theta, self.phi)
        )
        mixed = torch.matmul(values, keys.transpose(1, 2)) / keys.shape[2]
        gathered = torch.matmul(mixed, queries).reshape(features.shape[0], -1, *features.shape[2:])
        output: Tensor = features + self.W(gathered)
        return output


def add_non_local(
    network: nn.Module,
    counts: Sequence[int],
    *,
    channels: Literal["half", "one"],
    name: str,
) -> None:
    """Put a non-local block after each of the last blocks of a stage.

    Args:
        network: A timm ResNet.
        counts: How many of the last blocks of each of the four stages get one; (0, 2, 3, 0) is
            AGW's for ResNet-50.
        channels: ``"half"``: C' = C / 2, as the papers say. ``"one"``: C' = 1, as the released
            weights of AGW and FastReID have it.
        name: The model's name, for the messages.

    Raises:
        ConfigError: The network is no ResNet, or the counts do not fit its stages.
    """
    if not isinstance(network, ResNet):
        raise ConfigError(
            f"non_local: {name!r} ({type(network).__name__}) has no residual stages; this needs a "
            "timm ResNet such as resnet50. Remove non_local"
        )
    stages = [cast("nn.Sequential", network.get_submodule(f"layer{n}")) for n in range(1, 5)]
    blocks = [len(stage) for stage in stages]
    if len(counts) != 4 or any(not 0 <= n <= most for n, most in zip(counts, blocks, strict=False)):
        raise ConfigError(
            f"non_local: got {list(counts)}, expected four numbers, one a stage, at most {blocks}, "
            f"the blocks of {name}; AGW's ResNet-50 has [0, 2, 3, 0]"
        )
    widths = {str(info["module"]): cast("int", info["num_chs"]) for info in network.feature_info}
    for position, (stage, count) in enumerate(zip(stages, counts, strict=True), start=1):
        width = widths[f"layer{position}"]
        inner = 1 if channels == "one" else max(width // 2, 1)
        if count:
            network.set_submodule(f"layer{position}", _with_non_local(stage, count, width, inner))


def _with_non_local(stage: nn.Sequential, count: int, width: int, inner: int) -> nn.Sequential:
    extended = nn.Sequential()
    first = len(stage) - count
    for index, (key, block) in enumerate(stage.named_children()):
        extended.add_module(key, block)
        if index >= first:
            extended.add_module(f"{key}{SUFFIX}", NonLocal(width, inner_channels=inner))
    return extended
