from __future__ import annotations

import pytest
import timm
import torch
from timm.models.resnet import BasicBlock, Bottleneck, ResNet, downsample_avg, downsample_conv
from torch import nn

from reid_core.errors import ConfigError
from reid_plugin_timm.stride import set_last_stride


def built_at_stride_one(network: ResNet, block_type: type[nn.Module], *, avg_down: bool):
    """Construct the first block of the last stage as timm does for stride 1, same weights."""
    block = network.layer4[0]
    make = downsample_avg if avg_down else downsample_conv
    out_channels = block.downsample[-1].num_features
    in_channels = network.layer3[0].downsample[-1].num_features
    reference = block_type(
        in_channels,
        out_channels // block_type.expansion,
        stride=1,
        downsample=make(in_channels, out_channels, kernel_size=1, stride=1),
    )
    reference.load_state_dict(block.state_dict())
    return reference.eval()


@pytest.mark.parametrize(
    ("name", "block_type", "avg_down"),
    [
        ("resnet18", BasicBlock, False),
        ("resnet26", Bottleneck, False),
        ("resnet26d", Bottleneck, True),
        ("resnetblur50", Bottleneck, False),
    ],
)
def test_the_block_is_the_one_timm_builds_at_stride_one(
    name: str, block_type: type[nn.Module], avg_down: bool
):
    network = timm.create_model(name, num_classes=0).eval()
    for module in network.layer4[0].modules():
        # timm starts the last normalisation of a block at 0, which would hide the convolutions.
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    reference = built_at_stride_one(network, block_type, avg_down=avg_down)
    x = torch.randn(1, network.layer3[-1].bn2.num_features * block_type.expansion, 8, 4)

    set_last_stride(network, 1, name=name)

    with torch.inference_mode():
        torch.testing.assert_close(network.layer4[0](x), reference(x))


def test_the_last_map_doubles_and_no_convolution_is_dilated():
    network = timm.create_model("resnet18", num_classes=0).eval()
    images = torch.randn(1, 3, 128, 64)
    with torch.inference_mode():
        before = network.forward_features(images)
        set_last_stride(network, 1, name="resnet18")
        after = network.forward_features(images)
    assert before.shape == (1, 512, 4, 2)
    assert after.shape == (1, 512, 8, 4)
    assert {m.dilation for m in network.modules() if isinstance(m, nn.Conv2d)} == {(1, 1)}


def test_stride_two_leaves_the_network_as_it_is():
    network = timm.create_model("resnet18", num_classes=0).eval()
    images = torch.randn(1, 3, 64, 32)
    with torch.inference_mode():
        before = network.forward_features(images)
        set_last_stride(network, 2, name="resnet18")
        torch.testing.assert_close(network.forward_features(images), before)


@pytest.mark.parametrize("name", ["test_vit", "test_efficientnet", "resnest14d"])
def test_a_model_without_such_a_stage_is_refused(name: str):
    network = timm.create_model(name, num_classes=0)
    with pytest.raises(ConfigError, match=f"last_stride: '{name}'.*resnet50"):
        set_last_stride(network, 1, name=name)
