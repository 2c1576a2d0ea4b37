"""The parts OSNet is made of; attribute names are those of the released weights.

Source: Zhou et al., "Omni-Scale Feature Learning for Person Re-Identification", ICCV 2019.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

#: A block works on a quarter of its output channels.
_BOTTLENECK_REDUCTION = 4
#: The gate squeezes its channels by this factor.
_GATE_REDUCTION = 16


class ConvNorm(nn.Module):
    """Convolution without bias, batch normalisation and, unless linear, ReLU.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel_size: Side of the square kernel; padding keeps the size at stride 1.
        stride: Step of the kernel.
        relu: False leaves the output linear.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        kernel_size: int = 1,
        stride: int = 1,
        relu: bool = True,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel_size, stride, padding=kernel_size // 2, bias=False
        )
        self.bn = nn.BatchNorm2d(out_channels)
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
    """Weights in (0, 1), one a channel and image, multiplied onto the input.

    Args:
        channels: Channels of the input.

    Source: OSNet, section 3.2, the unified aggregation gate.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, channels // _GATE_REDUCTION, 1)
        self.fc2 = nn.Conv2d(channels // _GATE_REDUCTION, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, C, H, W), ``x`` scaled channel by channel."""
        squeezed = x.mean(dim=(2, 3), keepdim=True)
        return x * torch.sigmoid(self.fc2(torch.relu(self.fc1(squeezed))))


class OSBlock(nn.Module):
    """Residual block whose four streams see 3, 5, 7 and 9 pixels and share one gate.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.

    Source: OSNet, equations 2 and 3.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        mid = out_channels // _BOTTLENECK_REDUCTION
        self.conv1 = ConvNorm(in_channels, mid)
        self.conv2a = LightConv3x3(mid, mid)
        self.conv2b = nn.Sequential(*(LightConv3x3(mid, mid) for _ in range(2)))
        self.conv2c = nn.Sequential(*(LightConv3x3(mid, mid) for _ in range(3)))
        self.conv2d = nn.Sequential(*(LightConv3x3(mid, mid) for _ in range(4)))
        self.gate = ChannelGate(mid)
        self.conv3 = ConvNorm(mid, out_channels, relu=False)
        self.downsample: nn.Module | None = None
        if in_channels != out_channels:
            self.downsample = ConvNorm(in_channels, out_channels, relu=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, ``in_channels``, H, W) to (B, ``out_channels``, H, W)."""
        identity = x if self.downsample is None else self.downsample(x)
        reduced = self.conv1(x)
        mixed = self.gate(self.conv2a(reduced))
        for stream in (self.conv2b, self.conv2c, self.conv2d):
            mixed = mixed + self.gate(stream(reduced))
        return torch.relu(self.conv3(mixed) + identity)
