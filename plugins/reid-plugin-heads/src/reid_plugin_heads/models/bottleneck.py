"""One more block behind a branch."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from reid_core.errors import ConfigError


@runtime_checkable
class BlockMaker(Protocol):
    """A backbone that makes further blocks of the kind it consists of."""

    def make_block(self, channels: int) -> nn.Module:
        """Return a fresh block from maps (B, ``channels``, h, w) to maps of that shape."""
        ...


class ResidualBottleneck(nn.Module):
    """The block of deep ResNets: 1×1 to a quarter of the channels, 3×3, 1×1 back, plus the input.

    Args:
        channels: Channels C, a multiple of 4.

    Raises:
        ConfigError: ``channels`` is no multiple of 4.

    Source: He et al., "Deep Residual Learning for Image Recognition", figure 5.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels % 4:
            raise ConfigError(
                f"a bottleneck works on a quarter of the backbone's channels, and {channels} is no "
                "multiple of 4; use another backbone"
            )
        inner = channels // 4
        self.layers = nn.Sequential(
            *_convolution(channels, inner),
            nn.ReLU(),
            *_convolution(inner, inner, kernel_size=3),
            nn.ReLU(),
            *_convolution(inner, channels),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Map (B, C, h, w) to (B, C, h, w)."""
        added: Tensor = self.layers(features) + features
        return added.relu()


def make_block(backbone: nn.Module, channels: int) -> nn.Module:
    """Return a block of the backbone's own kind, or a ResNet's where it makes none.

    Args:
        backbone: The backbone, before it is taken apart.
        channels: Channels of input and output.
    """
    if isinstance(backbone, BlockMaker):
        return backbone.make_block(channels)
    return ResidualBottleneck(channels)


def _convolution(before: int, after: int, *, kernel_size: int = 1) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(before, after, kernel_size, padding=kernel_size // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution, nn.BatchNorm2d(after)
