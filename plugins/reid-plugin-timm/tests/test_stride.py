from __future__ import annotations

import pytest
import timm
import torch
from timm.models.regnet import Bottleneck as RegNetBottleneck
from timm.models.resnest import ResNestBottleneck
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


def test_a_resnest_goes_on_to_average_at_stride_one():
    network = timm.create_model("resnest14d", num_classes=0).eval()
    nn.init.uniform_(network.layer4[0].bn3.weight, 0.5, 1.5)
    reference = ResNestBottleneck(
        1024,
        512,
        stride=1,
        downsample=downsample_avg(1024, 2048, kernel_size=1, stride=1),
        radix=2,
        avd=True,
        is_first=True,
    )
    reference.load_state_dict(network.layer4[0].state_dict())
    x = torch.randn(1, 1024, 8, 4)
    set_last_stride(network, 1, name="resnest14d")
    with torch.inference_mode():
        torch.testing.assert_close(network.layer4[0](x), reference.eval()(x))


def test_a_regnet_block_is_the_one_timm_builds_at_stride_one():
    network = timm.create_model("regnety_002", num_classes=0).eval()
    block = network.s4.b1
    nn.init.uniform_(block.conv3.bn.weight, 0.5, 1.5)
    reference = RegNetBottleneck(152, 368, stride=1, group_size=8, downsample="conv1x1")
    reference.load_state_dict(block.state_dict())
    x = torch.randn(1, 152, 8, 4)
    set_last_stride(network, 1, name="regnety_002")
    with torch.inference_mode():
        torch.testing.assert_close(block(x), reference.eval()(x))


def strided_layers(network: nn.Module) -> list[str]:
    """Return the names of the layers that halve the resolution, in order."""
    return [
        key
        for key, layer in network.named_modules()
        if getattr(layer, "stride", 1) in (2, (2, 2)) and not list(layer.children())
    ]


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        ("regnetx_002", 368),
        ("resnest14d", 2048),
        ("efficientnet_b0", 1280),
        ("tf_efficientnet_lite0", 1280),
        ("mobilenetv2_035", 1280),
        ("mobilenetv3_small_050", 288),
        ("mobilenetv4_conv_small_035", 336),
        ("mixnet_s", 1536),
    ],
)
def test_other_families_keep_the_resolution_too(name: str, channels: int):
    network = timm.create_model(name, num_classes=0).eval()
    before = {key: value.clone() for key, value in network.state_dict().items()}
    strided = strided_layers(network)
    set_last_stride(network, 1, name=name)
    with torch.inference_mode():
        assert network.forward_features(torch.randn(1, 3, 128, 64)).shape == (1, channels, 8, 4)
    # None but the last ones changed.
    kept = strided_layers(network)
    assert kept == strided[: len(kept)]
    assert len(kept) < len(strided)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    assert {m.dilation for m in network.modules() if isinstance(m, nn.Conv2d)} == {(1, 1)}


@pytest.mark.parametrize("name", ["test_vit", "convnext_atto", "skresnet18"])
def test_a_model_without_such_a_stage_is_refused(name: str):
    network = timm.create_model(name, num_classes=0)
    with pytest.raises(ConfigError, match=f"last_stride: '{name}'.*ResNeSt, RegNet.*resnet50"):
        set_last_stride(network, 1, name=name)
