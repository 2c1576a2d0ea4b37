from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_plugin_osnet.layers import ChannelGate, ConvNorm, LightConv3x3


@pytest.fixture
def gate() -> ChannelGate:
    torch.manual_seed(0)
    made = ChannelGate(32)
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    return made


def gated_by_loops(gate: ChannelGate, x: torch.Tensor) -> torch.Tensor:
    w1, b1 = gate.fc1.weight[:, :, 0, 0], gate.fc1.bias
    w2, b2 = gate.fc2.weight[:, :, 0, 0], gate.fc2.bias
    rows = []
    for row in range(len(x)):
        means = torch.stack([x[row, c].mean() for c in range(x.shape[1])])
        scale = torch.sigmoid(w2 @ torch.clamp(w1 @ means + b1, min=0) + b2)
        rows.append(torch.stack([x[row, c] * scale[c] for c in range(x.shape[1])]))
    return torch.stack(rows)


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_the_gate_adds_up_what_a_plain_loop_scales(gate: ChannelGate, streams: int):
    xs = [torch.randn(2, 32, 4, 3, requires_grad=True) for _ in range(streams)]
    expected = torch.stack([gated_by_loops(gate, x) for x in xs]).sum(dim=0)
    weights = torch.randn_like(expected)

    out = gate(*xs)
    grads = torch.autograd.grad((out * weights).sum(), [*xs, *gate.parameters()])
    slow = torch.autograd.grad((expected * weights).sum(), [*xs, *gate.parameters()])

    torch.testing.assert_close(out, expected)
    for grad, loop in zip(grads, slow, strict=True):
        torch.testing.assert_close(grad, loop, rtol=1e-4, atol=1e-5)


def test_the_gate_leaves_its_streams_as_they_are(gate: ChannelGate):
    xs = [torch.randn(2, 32, 4, 3) for _ in range(3)]
    before = [x.clone() for x in xs]
    gate(*xs)
    assert all(torch.equal(x, y) for x, y in zip(xs, before, strict=True))


def test_the_light_convolution_has_no_activation_between_its_two_parts():
    torch.manual_seed(0)
    layer = LightConv3x3(4, 6).eval()
    nn.init.normal_(layer.bn.bias)
    x = torch.randn(1, 4, 5, 5)

    pointwise = torch.einsum("oc,bchw->bohw", layer.conv1.weight[:, :, 0, 0], x)
    depthwise = nn.functional.conv2d(pointwise, layer.conv2.weight, padding=1, groups=6)

    assert (pointwise < 0).any()
    torch.testing.assert_close(layer(x), torch.relu(layer.bn(depthwise)))


def test_a_linear_convolution_keeps_negative_values():
    x = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert (ConvNorm(3, 5, relu=False)(x) < 0).any()
    assert not (ConvNorm(3, 5)(x) < 0).any()


def test_instance_norm_sees_one_image_and_no_norm_none():
    torch.manual_seed(0)
    x = torch.randn(4, 3, 8, 8)
    by_image = ConvNorm(3, 5, norm="instance", relu=False)
    convolved = by_image.conv(x)
    mean = convolved.mean(dim=(2, 3), keepdim=True)
    var = convolved.var(dim=(2, 3), unbiased=False, keepdim=True)
    torch.testing.assert_close(by_image(x), (convolved - mean) / (var + 1e-5).sqrt())

    bare = ConvNorm(3, 5, norm="none", relu=False)
    torch.testing.assert_close(bare(x), bare.conv(x))
    assert list(bare.state_dict()) == ["conv.weight"]
