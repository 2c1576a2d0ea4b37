from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone
from reid_plugin_timm.non_local import NonLocal

SIZE = (64, 32)


def random_block(channels: int, inner_channels: int) -> NonLocal:
    torch.manual_seed(0)
    block = NonLocal(channels, inner_channels=inner_channels)
    last = block.W[1]
    nn.init.uniform_(last.weight, 0.5, 1.5)
    nn.init.normal_(last.bias)
    nn.init.normal_(last.running_mean)
    nn.init.uniform_(last.running_var, 0.5, 1.5)
    return block.eval()


def by_pairs(block: NonLocal, features: Tensor) -> Tensor:
    """Let every position of (C, h, w) look at every other one, one after the other."""

    def project(layer: nn.Conv2d, vector: Tensor) -> Tensor:
        return layer.weight[:, :, 0, 0] @ vector + layer.bias

    height, width = features.shape[1:]
    positions = [(row, column) for row in range(height) for column in range(width)]
    last = block.W[1]
    output = torch.empty_like(features)
    for row, column in positions:
        query = project(block.theta, features[:, row, column])
        gathered = torch.zeros(block.g.out_channels)
        for other_row, other_column in positions:
            other = features[:, other_row, other_column]
            likeness = query @ project(block.phi, other)
            gathered = gathered + likeness * project(block.g, other) / len(positions)
        out = project(block.W[0], gathered)
        scaled = (out - last.running_mean) / (last.running_var + last.eps).sqrt()
        output[:, row, column] = features[:, row, column] + scaled * last.weight + last.bias
    return output


@pytest.mark.parametrize("inner_channels", [1, 4])
def test_every_position_looks_at_all_others(inner_channels: int):
    block = random_block(8, inner_channels)
    features = torch.randn(2, 8, 4, 3)
    with torch.no_grad():
        expected = torch.stack([by_pairs(block, image) for image in features])
        torch.testing.assert_close(block(features), expected, rtol=1e-4, atol=1e-5)


def test_the_gradient_is_that_of_the_pairs():
    block = random_block(6, 3)
    features = torch.randn(1, 6, 3, 2, requires_grad=True)
    parameters = [features, *block.parameters()]
    fast = torch.autograd.grad(block(features).square().sum(), parameters)
    slow = torch.autograd.grad(by_pairs(block, features[0]).square().sum(), parameters)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_new_block_is_the_identity():
    features = torch.randn(2, 8, 4, 3)
    block = NonLocal(8, inner_channels=4)
    assert torch.equal(block.train()(features), features)
    assert torch.equal(block.eval()(features), features)


def test_a_resnet_with_new_blocks_computes_what_it_did():
    torch.manual_seed(0)
    plain = TimmBackbone(model_name="resnet26", image_size=SIZE).eval()
    torch.manual_seed(0)
    extended = TimmBackbone(model_name="resnet26", image_size=SIZE, non_local=[0, 2, 1, 0]).eval()
    images = torch.randn(2, 3, *SIZE)
    with torch.inference_mode():
        assert torch.equal(plain(images), extended(images))


@pytest.mark.parametrize(("channels", "inner"), [("half", (256, 512)), ("one", (1, 1))])
def test_the_last_blocks_of_a_stage_are_followed_by_one(channels: str, inner: tuple[int, int]):
    backbone = TimmBackbone(
        model_name="resnet26",
        image_size=SIZE,
        non_local=[0, 2, 1, 0],
        non_local_channels=channels,
    )
    assert [key for key, _ in backbone.model.layer1.named_children()] == ["0", "1"]
    layer2 = [key for key, _ in backbone.model.layer2.named_children()]
    assert layer2 == ["0", "0_non_local", "1", "1_non_local"]
    layer3 = [key for key, _ in backbone.model.layer3.named_children()]
    assert layer3 == ["0", "1", "1_non_local"]
    state = backbone.model.state_dict()
    for key, width in (("layer2.1_non_local", inner[0]), ("layer3.1_non_local", inner[1])):
        assert state[f"{key}.g.weight"].shape[0] == width
        assert state[f"{key}.theta.weight"].shape[0] == width
        assert state[f"{key}.phi.weight"].shape[0] == width
        assert state[f"{key}.W.0.weight"].shape[1] == width
        assert f"{key}.W.1.running_mean" in state


def test_the_blocks_run_where_they_stand():
    backbone = TimmBackbone(model_name="resnet18", image_size=SIZE, non_local=[0, 0, 1, 0])
    seen: list[str] = []
    for key in ("layer3.0", "layer3.1", "layer3.1_non_local", "layer4.0"):
        backbone.model.get_submodule(key).register_forward_hook(
            lambda *_, key=key: seen.append(key)
        )
    backbone(torch.randn(2, 3, *SIZE)).square().mean().backward()
    assert seen == ["layer3.0", "layer3.1", "layer3.1_non_local", "layer4.0"]
    assert all(p.requires_grad and p.grad is not None for p in backbone.parameters())


@pytest.mark.parametrize("counts", [[0, 3, 0, 0], [0, 1, 0], [0, -1, 0, 0]])
def test_counts_that_do_not_fit_the_stages_are_refused(counts: list[int]):
    with pytest.raises(ConfigError, match=r"non_local: got .* at most \[2, 2, 2, 2\]"):
        TimmBackbone(model_name="resnet18", image_size=SIZE, non_local=counts)


def test_a_model_without_residual_stages_is_refused():
    with pytest.raises(ConfigError, match=r"non_local: 'test_vit' .*resnet50"):
        TimmBackbone(model_name="test_vit", image_size=SIZE, non_local=[0, 1, 0, 0])
