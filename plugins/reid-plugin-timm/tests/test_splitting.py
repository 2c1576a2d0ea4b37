from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.contracts import BranchingBackbone
from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone

SIZE = (64, 32)


def build(name: str, **parameters: object) -> TimmBackbone:
    torch.manual_seed(0)
    backbone = TimmBackbone(model_name=name, image_size=SIZE, **parameters)  # type: ignore[arg-type]
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d | nn.InstanceNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return backbone.eval()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet18", {}),
        ("resnet26d", {"last_stride": 1}),
        ("resnet18", {"ibn": "a", "non_local": [0, 2, 2, 0]}),
        ("resnet18", {"ibn": "b", "non_local": [0, 0, 1, 1], "stem_pool": "ceil"}),
        ("resnest14d", {"gradient_checkpointing": True}),
        ("test_vit3", {}),
        ("test_vit3", {"patch_stride": 12, "gradient_checkpointing": True}),
        ("test_vit2", {}),  # keeps its normalisation in the head
        ("deit_tiny_distilled_patch16_224", {}),
        ("vit_tiny_r_s16_p8_224", {}),
    ],
)
def test_trunk_and_branch_do_what_the_backbone_does(name: str, parameters: dict[str, object]):
    backbone = build(name, **parameters)
    assert isinstance(backbone, BranchingBackbone)
    trunk, branches = backbone.split(last_strides=[None, None])
    images = torch.randn(2, 3, *SIZE)
    with torch.no_grad():
        expected = backbone(images)
        shared = trunk(images)
        for branch in branches:
            torch.testing.assert_close(branch(shared), expected)


def test_conditions_go_to_the_trunk():
    backbone = build("test_vit3", sie="camera_view", num_cameras=2, num_views=3)
    nn.init.normal_(backbone.side_information.table)
    trunk, (branch,) = backbone.split(last_strides=[None])
    given = {"camids": torch.tensor([1, 0]), "viewids": torch.tensor([2, 1])}
    images = torch.randn(2, 3, *SIZE)
    assert trunk.conditions == ("camids", "viewids")
    with torch.no_grad():
        torch.testing.assert_close(branch(trunk(images, **given)), backbone(images, **given))


def test_a_resnet_is_split_after_the_first_block_of_its_third_stage():
    trunk, (branch,) = build("resnet18", non_local=[0, 0, 2, 0]).split(last_strides=[None])
    trunk_keys = {key.rpartition(".")[0] for key in trunk.state_dict()}
    branch_keys = {key.rpartition(".")[0] for key in branch.state_dict()}
    assert {"model.conv1", "model.layer3.0.conv1", "model.layer3.0_non_local.g"} <= trunk_keys
    assert not any(key.startswith(("model.layer3.1", "model.layer4")) for key in trunk_keys)
    assert {"layer3.1.conv1", "layer3.1_non_local.g", "layer4.0.conv1"} <= branch_keys
    assert not any(key.startswith("layer3.0") for key in branch_keys)
    with torch.no_grad():
        assert trunk.eval()(torch.randn(1, 3, *SIZE)).shape == (1, 256, 4, 2)


def test_each_branch_has_the_stride_it_asked_for():
    backbone = build("resnet18")
    trunk, branches = backbone.split(last_strides=[2, 1, None])
    with torch.no_grad():
        shared = trunk(torch.randn(1, 3, *SIZE))
        shapes = [tuple(branch(shared).shape[2:]) for branch in branches]
        assert backbone(torch.randn(1, 3, *SIZE)).shape[2:] == (2, 1)
    assert shapes == [(2, 1), (4, 2), (2, 1)]


def test_parts_share_no_parameter_and_the_backbone_is_left_alone():
    backbone = build("test_vit3")
    trunk, branches = backbone.split(last_strides=[None, None])
    parts = [trunk, *branches, backbone]
    addresses = [p.data_ptr() for part in parts for p in part.parameters()]
    assert len(set(addresses)) == len(addresses)
    ours, theirs = branches[0].state_dict(), branches[1].state_dict()
    assert all(torch.equal(value, theirs[key]) for key, value in ours.items())
    assert len(backbone.model.blocks) == len(trunk.model.blocks) + 1


def test_a_branch_of_a_transformer_takes_any_number_of_tokens():
    _, (branch,) = build("test_vit3").split(last_strides=[None])
    tokens = torch.randn(2, 9, 96)
    with torch.no_grad():
        assert branch(tokens[:, :4]).shape == (2, 4, 96)
        torch.testing.assert_close(branch(tokens[:1]), branch(tokens)[:1])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet18", {"ibn": "a", "non_local": [0, 1, 2, 0]}),
        ("test_vit2", {}),
        ("test_vit3", {}),  # pools by attention, which is not run
    ],
)
def test_the_gradient_reaches_every_part(name: str, parameters: dict[str, object]):
    trunk, branches = build(name, **parameters).split(last_strides=[None, None])
    shared = trunk.train()(torch.randn(2, 3, *SIZE))
    sum(branch.train()(shared).square().mean() for branch in branches).backward()
    for part in (trunk, *branches):
        assert [k for k, p in part.named_parameters() if p.grad is None] == []


def test_checkpointed_branches_run_twice():
    trunk, (branch,) = build("resnet18", gradient_checkpointing=True).split(last_strides=[1])
    runs = []
    branch.layer4[0].conv1.register_forward_hook(lambda *_: runs.append(1))
    branch.train()(trunk.train()(torch.randn(2, 3, *SIZE))).square().mean().backward()
    assert len(runs) == 2


def test_a_stride_that_was_removed_cannot_be_asked_for():
    with pytest.raises(ConfigError, match=r"last_stride: 1 is set on the backbone.*remove"):
        build("resnet18", last_stride=1).split(last_strides=[2, 1])


def test_a_transformer_has_no_stride():
    with pytest.raises(ConfigError, match=r"'test_vit3' is a transformer.*\[None, 1\]"):
        build("test_vit3").split(last_strides=[None, 1])


@pytest.mark.parametrize(
    "name", ["convnext_atto", "eva02_tiny_patch14_224", "swin_tiny_patch4_window7_224"]
)
def test_other_models_are_refused_with_those_that_work(name: str):
    with pytest.raises(ConfigError, match=rf"'{name}' .*resnet50.*vit_base_patch16_224"):
        build(name).split(last_strides=[None])
