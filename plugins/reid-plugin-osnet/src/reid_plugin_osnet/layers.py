"""The layers OSNet is made of; attribute names are those of the released weights.

Source: Zhou et al., "Omni-Scale Feature Learning for Person Re-Identification", ICCV 2019.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

Norm = Literal["batch", "instance", "none"]

#: The gate squeezes its channels by this factor.
_GATE_REDUCTION = 16


class ConvNorm(nn.Module):
    """Convolution without bias, a normalisation and, unless linear, ReLU.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Side of the square kernel; padding keeps the size at stride 1.
        stride: Step of the kernel.
        norm: What follows the convolution; each has a scale and a shift for every channel.
        relu: False leaves the output linear.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        kernel_size: int = 1,
        stride: int = 1,
        norm: Norm = "batch",
        relu: bool = True,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride, padding=kernel_size // 2, bias=False
        )
        # Released weights call the normalisation "bn", whichever it is.
        self.bn = _norm(norm, out_channels)
        self.relu = nn.ReLU(inplace=True) if relu else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, ``in_channels``, H, W) to (B, ``out_channels``, H / stride, W / stride)."""
        out: Tensor = self.relu(self.bn(self.conv(x)))
        return out


class LightConv3x3(nn.Module):
    """A factorised 3×3 convolution: pointwise without activation, then depthwise.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.

    Source: OSNet, section 3.1, "Lite 3×3".
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.conv2 = nn.Conv2d(
            out_channels, out_channels, 3, padding=1, groups=out_channels, bias=False
        )
        self.bn = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, ``in_channels``, H, W) to (B, ``out_channels``, H, W)."""
        out: Tensor = self.relu(self.bn(self.conv2(self.conv1(x))))
        return out


class ChannelGate(nn.Module):
    """The sum of streams, each scaled channel by channel with weights in (0, 1) of its own.

    ``Σ_t σ(W₂ · ReLU(W₁ · mean(x_t))) · x_t``. All streams share W₁ and W₂, so their means go
    through them in one call, and the products are added into one tensor: the numbers are those of
    one stream after the other.

    Args:
        channels: Channels C of each stream.

    Source: OSNet, section 3.2, the unified aggregation gate, and equation 3.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, channels // _GATE_REDUCTION, 1)
        self.fc2 = nn.Conv2d(channels // _GATE_REDUCTION, channels, 1)

    def forward(self, *streams: Tensor) -> Tensor:
        """Return the gated sum.

        Args:
            streams: At least one tensor (B, C, H, W), all of one shape.

        Returns:
            (B, C, H, W) of the streams' dtype.
        """
        means = torch.cat([x.mean(dim=(2, 3), keepdim=True) for x in streams])
        gates = torch.sigmoid(self.fc2(torch.relu(self.fc1(means)))).chunk(len(streams))
        mixed = streams[0] * gates[0]
        for stream, gate in zip(streams[1:], gates[1:], strict=True):
            mixed.addcmul_(stream, gate)
        return mixed


def _norm(norm: Norm, channels: int) -> nn.Module:
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    if norm == "instance":
        return nn.InstanceNorm2d(channels, affine=True)
    return nn.Identity()
