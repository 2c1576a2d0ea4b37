from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_plugin_osnet.blocks import ChannelGate, ConvNorm, LightConv3x3, OSBlock


def randomise(module: nn.Module) -> None:
    """Give every tensor, running statistics included, a value that shows when it is not used."""
    generator = torch.Generator().manual_seed(0)
    for name, value in module.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        drawn = torch.rand(value.shape, generator=generator)
        value.copy_(drawn + 0.5 if "var" in name else drawn - 0.5)


def test_the_gate_scales_each_channel_as_a_plain_loop_does():
    gate = ChannelGate(32)
    randomise(gate)
    x = torch.randn(2, 32, 4, 3, generator=torch.Generator().manual_seed(1))

    w1, b1 = gate.fc1.weight[:, :, 0, 0], gate.fc1.bias
    w2, b2 = gate.fc2.weight[:, :, 0, 0], gate.fc2.bias
    expected = torch.empty_like(x)
    for row in range(2):
        means = torch.stack([x[row, c].mean() for c in range(32)])
        scale = torch.sigmoid(w2 @ torch.clamp(w1 @ means + b1, min=0) + b2)
        for c in range(32):
            expected[row, c] = x[row, c] * scale[c]

    torch.testing.assert_close(gate(x), expected)


def test_the_light_convolution_has_no_activation_between_its_two_parts():
    layer = LightConv3x3(4, 6).eval()
    randomise(layer)
    x = torch.randn(1, 4, 5, 5, generator=torch.Generator().manual_seed(1))

    pointwise = torch.einsum("oc,bchw->bohw", layer.conv1.weight[:, :, 0, 0], x)
    depthwise = nn.functional.conv2d(pointwise, layer.conv2.weight, padding=1, groups=6)

    assert (pointwise < 0).any()
    torch.testing.assert_close(layer(x), torch.relu(layer.bn(depthwise)))


def test_a_block_is_the_gated_sum_of_its_four_streams_plus_the_input():
    block = OSBlock(64, 64).eval()
    randomise(block)
    x = torch.randn(2, 64, 6, 4, generator=torch.Generator().manual_seed(1))

    reduced = block.conv1(x)
    streams = [block.conv2a(reduced)]
    streams += [stream(reduced) for stream in (block.conv2b, block.conv2c, block.conv2d)]
    gated = torch.stack([block.gate(stream) for stream in streams]).sum(dim=0)

    assert block.downsample is None
    torch.testing.assert_close(block(x), torch.relu(block.conv3(gated) + x))


@pytest.mark.parametrize(("stream", "radius"), [("conv2a", 1), ("conv2b", 2), ("conv2d", 4)])
def test_a_stream_sees_as_far_as_its_depth(stream: str, radius: int):
    block = OSBlock(64, 64).eval()
    x = torch.zeros(1, 16, 17, 17, requires_grad=True)

    layers = getattr(block, stream)
    for module in layers.modules():
        if isinstance(module, nn.ReLU):
            module.forward = lambda t: t  # type: ignore[method-assign]
    layers(x)[0, :, 8, 8].sum().backward()

    rows = x.grad.abs().sum(dim=(0, 1, 3)).nonzero().flatten()
    assert (int(rows.min()), int(rows.max())) == (8 - radius, 8 + radius)


def test_a_block_that_changes_its_width_projects_the_input():
    block = OSBlock(16, 64)
    assert isinstance(block.downsample, ConvNorm)
    assert block(torch.randn(2, 16, 4, 4)).shape == (2, 64, 4, 4)


def test_a_linear_convolution_keeps_negative_values():
    x = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert (ConvNorm(3, 5, relu=False)(x) < 0).any()
    assert not (ConvNorm(3, 5)(x) < 0).any()
