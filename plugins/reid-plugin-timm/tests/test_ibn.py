from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone

SIZE = (64, 32)
#: Blocks a stage, and whether they are bottlenecks.
DEPTHS = {"resnet18": ((2, 2, 2, 2), False), "resnet26": ((2, 2, 2, 2), True)}


def build(name: str, **parameters: object) -> TimmBackbone:
    torch.manual_seed(0)
    backbone = TimmBackbone(model_name=name, image_size=SIZE, **parameters)  # type: ignore[arg-type]
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d | nn.InstanceNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.2)
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return backbone.eval()


def batch_norm(x: Tensor, state: Mapping[str, Tensor], key: str) -> Tensor:
    mean, var = state[f"{key}.running_mean"], state[f"{key}.running_var"]
    scaled = (x - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
    return scaled * state[f"{key}.weight"][:, None, None] + state[f"{key}.bias"][:, None, None]


def instance_norm(x: Tensor, state: Mapping[str, Tensor], key: str) -> Tensor:
    output = torch.empty_like(x)
    for row in range(x.shape[0]):
        for channel in range(x.shape[1]):
            plane = x[row, channel]
            scaled = (plane - plane.mean()) / (plane.var(unbiased=False) + 1e-5).sqrt()
            weight, bias = state[f"{key}.weight"][channel], state[f"{key}.bias"][channel]
            output[row, channel] = scaled * weight + bias
    return output


def norm(x: Tensor, state: Mapping[str, Tensor], key: str) -> Tensor:
    """Normalise in the manner that the released keys tell."""
    if f"{key}.IN.weight" in state:
        half = x.shape[1] // 2
        first = instance_norm(x[:, :half], state, f"{key}.IN")
        return torch.cat([first, batch_norm(x[:, half:], state, f"{key}.BN")], dim=1)
    if f"{key}.running_mean" in state:
        return batch_norm(x, state, key)
    return instance_norm(x, state, key)


def block(x: Tensor, state: Mapping[str, Tensor], key: str, stride: int, *, deep: bool) -> Tensor:
    y = F.conv2d(
        x, state[f"{key}.conv1.weight"], stride=1 if deep else stride, padding=int(not deep)
    )
    y = norm(y, state, f"{key}.bn1").relu()
    y = F.conv2d(y, state[f"{key}.conv2.weight"], stride=stride if deep else 1, padding=1)
    y = norm(y, state, f"{key}.bn2")
    if deep:
        y = norm(F.conv2d(y.relu(), state[f"{key}.conv3.weight"]), state, f"{key}.bn3")
    if f"{key}.downsample.0.weight" in state:
        x = F.conv2d(x, state[f"{key}.downsample.0.weight"], stride=stride)
        x = norm(x, state, f"{key}.downsample.1")
    y = y + x
    if f"{key}.IN.weight" in state:
        y = instance_norm(y, state, f"{key}.IN")
    return y.relu()


def reference(images: Tensor, state: Mapping[str, Tensor], name: str) -> Tensor:
    """Compute IBN-Net's network from its state, layer by layer."""
    depths, deep = DEPTHS[name]
    x = F.conv2d(images, state["conv1.weight"], stride=2, padding=3)
    x = F.max_pool2d(norm(x, state, "bn1").relu(), 3, stride=2, padding=1)
    for stage, depth in enumerate(depths, start=1):
        for index in range(depth):
            stride = 2 if index == 0 and stage > 1 else 1
            x = block(x, state, f"layer{stage}.{index}", stride, deep=deep)
    return x


@pytest.mark.parametrize("kind", ["a", "b"])
@pytest.mark.parametrize("name", DEPTHS)
def test_it_computes_what_the_released_networks_do(name: str, kind: str):
    backbone = build(name, ibn=kind)
    images = torch.randn(2, 3, *SIZE)
    with torch.inference_mode():
        expected = reference(images, backbone.model.state_dict(), name)
        torch.testing.assert_close(backbone(images), expected, rtol=1e-4, atol=1e-4)


def test_the_keys_of_ibn_a_are_those_of_the_released_weights():
    keys = set(build("resnet18", ibn="a").model.state_dict())
    blocks = [f"layer{stage}.{index}" for stage in (1, 2, 3) for index in (0, 1)]
    for key in blocks:
        for part in ("IN.weight", "IN.bias", "BN.weight", "BN.bias", "BN.running_mean"):
            assert f"{key}.bn1.{part}" in keys
        assert f"{key}.bn1.weight" not in keys
        assert f"{key}.bn1.IN.running_mean" not in keys
    assert "layer4.0.bn1.weight" in keys
    assert "bn1.running_mean" in keys


def test_the_keys_of_ibn_b_are_those_of_the_released_weights():
    state = build("resnet26", ibn="b").model.state_dict()
    ends = {key.rpartition(".IN.")[0] for key in state if ".IN." in key}
    assert ends == {"layer1.1", "layer2.1"}
    assert state["layer2.1.IN.weight"].shape == (512,)
    assert "bn1.weight" in state
    assert "bn1.running_mean" not in state


def test_an_odd_number_of_channels_is_cut_as_the_authors_do():
    from reid_plugin_timm.ibn import InstanceBatchNorm

    mixed = InstanceBatchNorm(nn.BatchNorm2d(7))
    assert (mixed.IN.num_features, mixed.BN.num_features) == (3, 4)
    assert mixed(torch.randn(2, 7, 4, 2)).shape == (2, 7, 4, 2)


def test_what_the_network_had_carries_over():
    from reid_plugin_timm.ibn import InstanceBatchNorm

    plain = nn.BatchNorm2d(6)
    for value in (plain.weight, plain.bias, plain.running_mean, plain.running_var):
        nn.init.uniform_(value, 0.5, 1.5)
    plain.num_batches_tracked.fill_(3)
    mixed = InstanceBatchNorm(plain)
    assert torch.equal(mixed.IN.weight, plain.weight[:3])
    assert torch.equal(mixed.IN.bias, plain.bias[:3])
    assert torch.equal(mixed.BN.weight, plain.weight[3:])
    assert torch.equal(mixed.BN.bias, plain.bias[3:])
    assert torch.equal(mixed.BN.running_mean, plain.running_mean[3:])
    assert torch.equal(mixed.BN.running_var, plain.running_var[3:])
    assert int(mixed.BN.num_batches_tracked) == 3


@pytest.mark.parametrize("name", ["seresnext26d_32x4d", "seresnet18", "ecaresnet26t"])
@pytest.mark.parametrize("kind", ["a", "b"])
def test_variants_of_the_resnet_train_with_it(name: str, kind: str):
    backbone = TimmBackbone(model_name=name, image_size=SIZE, ibn=kind, last_stride=1)
    features = backbone(torch.randn(2, 3, *SIZE))
    features.square().mean().backward()
    assert features.shape[2:] == (4, 2)
    assert all(p.requires_grad and p.grad is not None for p in backbone.parameters())


def test_stochastic_depth_still_skips_a_block_of_ibn_b():
    backbone = TimmBackbone(model_name="resnet18", image_size=SIZE, ibn="b", drop_path_rate=0.9)
    end = backbone.model.layer2[1]
    assert end.drop_path.drop_prob > 0
    end.drop_path.drop_prob = 1.0 - 1e-7
    nn.init.ones_(end.bn2.weight)
    x = torch.randn(2, 128, 4, 4)
    torch.testing.assert_close(end.train()(x), end.IN(x).relu())


@pytest.mark.parametrize("name", ["test_vit", "resnest14d", "resnet50_gn", "regnetx_002"])
def test_a_model_that_cannot_take_it_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"ibn: '{name}' .*resnet50, resnext50_32x4d"):
        TimmBackbone(model_name=name, image_size=SIZE, ibn="a")
