import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_heads.models.bottleneck import ResidualBottleneck, make_block


def test_the_block_adds_its_input() -> None:
    block = ResidualBottleneck(8)
    last = block.layers[-1]
    assert isinstance(last, nn.BatchNorm2d)
    nn.init.zeros_(last.weight)
    features = torch.randn(2, 8, 4, 3)
    torch.testing.assert_close(block(features), features.relu())


def test_the_block_works_on_a_quarter_of_the_channels() -> None:
    shapes = [tuple(p.shape) for p in ResidualBottleneck(8).parameters() if p.dim() == 4]
    assert shapes == [(2, 8, 1, 1), (2, 2, 3, 3), (8, 2, 1, 1)]


def test_a_backbone_may_make_its_own_blocks() -> None:
    class Maker(nn.Module):
        def make_block(self, channels: int) -> nn.Module:
            return nn.Conv2d(channels, channels, 1)

        def forward(self, images: Tensor) -> Tensor:
            return images

    block = make_block(Maker(), 6)
    assert isinstance(block, nn.Conv2d)
    assert block.out_channels == 6
    assert isinstance(make_block(nn.Identity(), 8), ResidualBottleneck)


def test_channels_that_have_no_quarter_are_an_error() -> None:
    with pytest.raises(ConfigError, match="6 is no multiple of 4"):
        ResidualBottleneck(6)
