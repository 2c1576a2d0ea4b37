from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from reid_plugin_osnet.blocks import AINBlock, OSBlock
from reid_plugin_osnet.layers import ConvNorm


def randomise(module: nn.Module) -> nn.Module:
    """Give every tensor, running statistics included, a value that shows when it is not used."""
    generator = torch.Generator().manual_seed(0)
    for name, value in module.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        drawn = torch.rand(value.shape, generator=generator)
        value.copy_(drawn + 0.5 if "var" in name else drawn - 0.5)
    return module


def batch(rows: int, channels: int, *size: int) -> Tensor:
    return torch.randn(rows, channels, *size, generator=torch.Generator().manual_seed(1))


def residual(block: OSBlock | AINBlock, x: Tensor) -> Tensor:
    """Return the block's third convolution of the gated sum, one stream after the other."""
    reduced = block.conv1(x)
    if isinstance(block, AINBlock):
        streams = [stream(reduced) for stream in block.conv2]
    else:
        layers = (block.conv2a, block.conv2b, block.conv2c, block.conv2d)
        streams = [stream(reduced) for stream in layers]
    out: Tensor = block.conv3(torch.stack([block.gate(s) for s in streams]).sum(dim=0))
    return out


def normalised(x: Tensor, norm: nn.InstanceNorm2d) -> Tensor:
    """Return each channel of each image with the norm's own mean and deviation."""
    rows = []
    for image in x:
        channels = [
            (c - c.mean()) / (c.var(unbiased=False) + 1e-5).sqrt() * norm.weight[i] + norm.bias[i]
            for i, c in enumerate(image)
        ]
        rows.append(torch.stack(channels))
    return torch.stack(rows)


def test_a_block_is_the_gated_sum_of_its_four_streams_plus_the_input():
    block = randomise(OSBlock(64, 64).eval())
    x = batch(2, 64, 6, 4)
    assert block.downsample is None
    torch.testing.assert_close(block(x), torch.relu(residual(block, x) + x))


def test_an_ibn_block_normalises_the_sum_of_residual_and_input():
    block = randomise(OSBlock(64, 64, instance_norm=True).eval())
    x = batch(2, 64, 6, 4)
    expected = torch.relu(normalised(residual(block, x) + x, block.IN))
    torch.testing.assert_close(block(x), expected, rtol=1e-4, atol=1e-5)


def test_an_ain_block_normalises_the_residual_alone():
    block = randomise(AINBlock(64, 64, instance_norm=True).eval())
    x = batch(2, 64, 6, 4)
    expected = torch.relu(normalised(residual(block, x), block.IN) + x)
    torch.testing.assert_close(block(x), expected, rtol=1e-4, atol=1e-5)
    assert not any(key.startswith("conv3.bn") for key in block.state_dict())


def test_an_ain_block_without_instance_norm_computes_what_the_plain_one_does():
    plain, named_otherwise = OSBlock(16, 64).eval(), AINBlock(16, 64, instance_norm=False).eval()
    randomise(plain)
    # The two have the same layers, in the same order, under other names.
    values = list(plain.state_dict().values())
    keys = list(named_otherwise.state_dict())
    named_otherwise.load_state_dict(dict(zip(keys, values, strict=True)))
    x = batch(2, 16, 6, 4)
    torch.testing.assert_close(named_otherwise(x), plain(x))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["plain", "ibn", "ain"])
def test_a_block_leaves_its_input_as_it_is(kind: str, training: bool):
    made = {
        "plain": OSBlock(64, 64),
        "ibn": OSBlock(64, 64, instance_norm=True),
        "ain": AINBlock(64, 64, instance_norm=True),
    }[kind].train(training)
    x = batch(2, 64, 6, 4)
    before = x.clone()
    made(x)
    assert torch.equal(x, before)


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
