"""The residual blocks of OSNet, OSNet-IBN and OSNet-AIN.

Attribute names are those of the released weights, which is why one computation has two layouts.
"""

from __future__ import annotations

from torch import Tensor, nn

from reid_plugin_osnet.layers import ChannelGate, ConvNorm, LightConv3x3, Norm

#: A block works on a quarter of its output channels.
_BOTTLENECK_REDUCTION = 4
#: The streams have 1, 2, 3 and 4 convolutions.
_DEPTHS = (1, 2, 3, 4)


class OSBlock(nn.Module):
    """Residual block whose four streams see 3, 5, 7 and 9 pixels and share one gate.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output, a multiple of 4.
        instance_norm: Normalise the sum of residual and input once more, image by image, before
            the last ReLU: the block of OSNet-IBN.

    Source: OSNet, equations 2 and 3; Pan et al., "Two at Once", ECCV 2018, variant b, for the
        place of the instance normalisation.
    """

    def __init__(self, in_channels: int, out_channels: int, *, instance_norm: bool = False) -> None:
        super().__init__()
        mid = out_channels // _BOTTLENECK_REDUCTION
        self.conv1 = ConvNorm(in_channels, mid)
        self.conv2a = LightConv3x3(mid, mid)
        self.conv2b, self.conv2c, self.conv2d = (_stream(mid, depth) for depth in _DEPTHS[1:])
        self.gate = ChannelGate(mid)
        self.conv3 = ConvNorm(mid, out_channels, relu=False)
        self.downsample = _projection(in_channels, out_channels)
        self.IN = nn.InstanceNorm2d(out_channels, affine=True) if instance_norm else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, ``in_channels``, H, W) to (B, ``out_channels``, H, W)."""
        identity = x if self.downsample is None else self.downsample(x)
        reduced = self.conv1(x)
        streams = (self.conv2a, self.conv2b, self.conv2c, self.conv2d)
        out: Tensor = self.conv3(self.gate(*(stream(reduced) for stream in streams)))
        # In place, here and below: no derivative reads what is overwritten, and memory traffic is
        # a third of a training step on a CPU.
        out += identity
        if self.IN is not None:
            out = self.IN(out)
        return out.relu_()


class LightConvStream(nn.Module):
    """A row of light convolutions, as OSNet-AIN names them.

    Args:
        channels: Channels of input and output.
        depth: Number of convolutions, at least 1; they see 2 · depth + 1 pixels.
    """

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.layers = _stream(channels, depth)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, ``channels``, H, W)."""
        out: Tensor = self.layers(x)
        return out


class AINBlock(nn.Module):
    """The block of OSNet-AIN: an :class:`OSBlock` that may normalise its residual by image.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output, a multiple of 4.
        instance_norm: Instance normalisation inside the residual, in the place of the last batch
            normalisation.

    Source: Zhou et al., "Learning Generalisable Omni-Scale Representations for Person
        Re-Identification", TPAMI 2021.
    """

    def __init__(self, in_channels: int, out_channels: int, *, instance_norm: bool) -> None:
        super().__init__()
        mid = out_channels // _BOTTLENECK_REDUCTION
        self.conv1 = ConvNorm(in_channels, mid)
        self.conv2 = nn.ModuleList(LightConvStream(mid, depth) for depth in _DEPTHS)
        self.gate = ChannelGate(mid)
        last_norm: Norm = "none" if instance_norm else "batch"
        self.conv3 = ConvNorm(mid, out_channels, norm=last_norm, relu=False)
        self.downsample = _projection(in_channels, out_channels)
        self.IN = nn.InstanceNorm2d(out_channels, affine=True) if instance_norm else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, ``in_channels``, H, W) to (B, ``out_channels``, H, W)."""
        identity = x if self.downsample is None else self.downsample(x)
        reduced = self.conv1(x)
        out: Tensor = self.conv3(self.gate(*(stream(reduced) for stream in self.conv2)))
        if self.IN is not None:
            out = self.IN(out)
        out += identity
        return out.relu_()


def _stream(channels: int, depth: int) -> nn.Sequential:
    return nn.Sequential(*(LightConv3x3(channels, channels) for _ in range(depth)))


def _projection(in_channels: int, out_channels: int) -> ConvNorm | None:
    """Return what makes the input as wide as the output, or None where it is."""
    return None if in_channels == out_channels else ConvNorm(in_channels, out_channels, relu=False)
