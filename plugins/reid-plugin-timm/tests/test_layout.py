from __future__ import annotations

import logging

import pytest
import timm
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_timm.layout import find_layout


class Returning(nn.Module):
    """A network that returns features of a given shape, as some model of timm might."""

    def __init__(self, *shape: int, **attributes: object) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.shape = shape
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward_features(self, x: Tensor) -> Tensor:
        return self.scale * torch.zeros(x.shape[0], *self.shape)


def test_a_map_is_read_by_its_second_axis():
    layout = find_layout(Returning(7, 8, 4), (128, 64), name="made")
    assert (layout.feature_dim, layout.num_prefix_tokens) == (7, None)


def test_a_channels_last_map_is_read_by_its_last_axis():
    network = Returning(8, 4, 7, output_fmt="NHWC")
    layout = find_layout(network, (128, 64), name="made")
    assert (layout.feature_dim, layout.num_prefix_tokens, layout.channels_last) == (7, None, True)


def test_declared_prefix_tokens_are_believed():
    layout = find_layout(Returning(36, 7, num_prefix_tokens=4), (128, 64), name="made")
    assert (layout.feature_dim, layout.num_prefix_tokens) == (7, 4)


def test_a_class_token_is_counted_where_nothing_is_declared():
    network = Returning(33, 7, cls_token=nn.Parameter(torch.zeros(7)))
    assert find_layout(network, (128, 64), name="made").num_prefix_tokens == 1
    assert find_layout(Returning(32, 7), (128, 64), name="made").num_prefix_tokens == 0


@pytest.mark.parametrize("num_tokens", [1, 34])
def test_tokens_that_cannot_be_told_apart_are_refused(num_tokens: int):
    network = Returning(num_tokens, 7, cls_token=nn.Parameter(torch.zeros(7)))
    with pytest.raises(ConfigError, match=f"'made' returns {num_tokens} tokens"):
        find_layout(network, (128, 64), name="made")


def test_a_network_that_pools_by_itself_is_refused():
    with pytest.raises(ConfigError, match=r"'made' returns \(1, 7\); a backbone returns a map"):
        find_layout(Returning(7), (128, 64), name="made")


def test_a_size_that_the_network_cannot_take_is_refused():
    network = timm.create_model("test_vit", num_classes=0)
    with pytest.raises(ConfigError, match=r"'test_vit' cannot take 100×64 images"):
        find_layout(network, (100, 64), name="test_vit")


def test_the_norm_that_timm_keeps_in_the_head_is_found():
    network = timm.create_model("convnext_atto", num_classes=0)
    nn.init.uniform_(network.head.norm.weight)
    layout = find_layout(network, (64, 32), name="convnext_atto")
    features = torch.randn(2, 320, 2, 1)
    assert layout.norm == "head.norm"
    torch.testing.assert_close(layout.finish(network, features), network.head.norm(features))


def test_a_class_token_model_has_no_further_norm():
    network = timm.create_model("test_vit", num_classes=0, img_size=(64, 32))
    assert find_layout(network, (64, 32), name="test_vit").norm is None


def test_parameters_outside_the_features_are_frozen_and_named(caplog: pytest.LogCaptureFixture):
    network = timm.create_model("mobilenetv3_small_050", num_classes=0)
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        find_layout(network, (64, 32), name="mobilenetv3_small_050")
    frozen = {name for name, p in network.named_parameters() if not p.requires_grad}
    assert frozen == {"conv_head.weight", "conv_head.bias"}
    assert "conv_head.weight" in caplog.text


def test_finding_out_leaves_mode_statistics_and_random_numbers_alone():
    network = timm.create_model("resnet18", num_classes=0)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    random_state = torch.get_rng_state()
    find_layout(network, (64, 32), name="resnet18")
    assert network.training
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
