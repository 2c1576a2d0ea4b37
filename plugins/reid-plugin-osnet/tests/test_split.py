from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from reid_core.errors import ConfigError
from reid_plugin_osnet.blocks import OSBlock
from reid_plugin_osnet.network import OSNet
from reid_plugin_osnet.osnet import osnet_x0_25
from reid_plugin_osnet.osnet_ain import osnet_ain_x0_25
from reid_plugin_osnet.osnet_ibn import osnet_ibn_x0_25

FACTORIES = [osnet_x0_25, osnet_ibn_x0_25, osnet_ain_x0_25]


def values(module: nn.Module) -> list[torch.Tensor]:
    return list(module.state_dict().values())


@pytest.mark.parametrize("factory", FACTORIES)
def test_trunk_and_branch_together_are_the_backbone(factory: Callable[..., OSNet]):
    model = factory(embedding="map").eval()
    trunk, branches = model.split(last_strides=[None, None, None])
    images = torch.randn(2, 3, 64, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = model(images)
        shared = trunk(images)
        assert shared.shape == (2, 96, 8, 4)
        assert len(branches) == 3
        for branch in branches:
            assert torch.equal(branch(shared), expected)


@pytest.mark.parametrize("factory", FACTORIES)
def test_each_parameter_is_in_the_trunk_or_in_a_branch(factory: Callable[..., OSNet]):
    model = factory(embedding="map")
    trunk, (branch,) = model.split(last_strides=[None])
    names = {*trunk.state_dict(), *branch.state_dict()}
    assert names == set(model.state_dict())
    assert not set(trunk.state_dict()) & set(branch.state_dict())
    assert {name for name in trunk.state_dict() if name.startswith("conv3.")} == {
        name for name in model.state_dict() if name.startswith("conv3.0.")
    }


def test_the_parts_are_independent_copies():
    model = osnet_x0_25(embedding="map")
    before = [value.clone() for value in values(model)]
    trunk, (first, second) = model.split(last_strides=[None, None])
    with torch.no_grad():
        for value in (*values(trunk), *values(first)):
            value.zero_()
    assert all(torch.equal(x, y) for x, y in zip(values(model), before, strict=True))
    assert any(value.any() for value in values(second))


def test_a_branch_takes_a_map_of_any_size():
    _, (branch,) = osnet_x0_25(embedding="map").eval().split(last_strides=[None])
    assert branch(torch.randn(2, 96, 6, 10)).shape == (2, 128, 3, 5)


def test_gradients_of_all_branches_meet_in_the_trunk():
    trunk, branches = osnet_x0_25(embedding="map").split(last_strides=[None, None])
    shared = trunk(torch.randn(4, 3, 64, 32, generator=torch.Generator().manual_seed(0)))
    torch.stack([branch(shared).square().sum() for branch in branches]).sum().backward()
    for part in (trunk, *branches):
        assert any(parameter.grad.any() for parameter in part.parameters())


def test_the_published_embedding_cannot_be_split():
    with pytest.raises(ConfigError, match=r"set model\.backbone\.embedding: map"):
        osnet_x0_25().split(last_strides=[None])


@pytest.mark.parametrize("stride", [1, 2])
def test_a_stride_is_refused(stride: int):
    with pytest.raises(ConfigError) as caught:
        osnet_x0_25(embedding="map").split(last_strides=[None, stride])
    assert f"[None, {stride}]" in str(caught.value)
    assert "Set the model's strides to null" in str(caught.value)


@pytest.mark.parametrize("embedding", ["fc", "map"])
@pytest.mark.parametrize("factory", FACTORIES)
def test_layer_groups_hold_every_parameter_once_from_the_images_on(
    factory: Callable[..., OSNet], embedding: str
):
    model = factory(embedding=embedding)
    groups = model.layer_groups()
    assert [name for group in groups for name in group] == [n for n, _ in model.named_parameters()]
    transitions = ("pool2.0", "pool3.0") if factory is osnet_ain_x0_25 else ("conv2.2", "conv3.2")
    units = ["conv1", "conv2.0", "conv2.1", transitions[0], "conv3.0", "conv3.1", transitions[1]]
    units += ["conv4.0", "conv4.1", "conv5", *(["fc"] if embedding == "fc" else [])]
    assert len(groups) == len(units)
    for unit, group in zip(units, groups, strict=True):
        assert all(name.startswith(f"{unit}.") for name in group), unit


def test_a_block_for_another_branch_starts_as_the_network_does():
    model = osnet_x0_25(embedding="map")
    torch.manual_seed(0)
    block = model.make_block(128)
    assert isinstance(block, OSBlock)
    assert block(torch.randn(2, 128, 4, 2)).shape == (2, 128, 4, 2)
    # Kaiming, fan out: 128 channels out of 32.
    assert float(block.conv3.conv.weight.detach().std()) == pytest.approx(
        (2 / 128) ** 0.5, rel=0.05
    )
    own = {id(parameter) for parameter in model.parameters()}
    assert not own & {id(parameter) for parameter in block.parameters()}
