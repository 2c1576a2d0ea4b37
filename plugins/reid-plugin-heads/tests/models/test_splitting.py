from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError, PluginError
from reid_core.testing.tiny_branching import TinyBranchingBackbone, TinyBranchingTransformer
from reid_core.testing.tiny_model import TinyBackbone
from reid_plugin_heads.models.splitting import require_map, require_tokens, split_backbone


def test_branches_begin_with_what_the_backbone_would_give() -> None:
    torch.manual_seed(0)
    backbone = TinyBranchingBackbone().eval()
    images = torch.randn(2, 3, 64, 32)
    expected = backbone(images)
    first, second, third = split_backbone("mgn", backbone, (None, 2, 1)).eval()(images)
    assert torch.equal(first, expected)
    assert torch.equal(second, expected)
    assert third.shape == (2, 16, 16, 8)


def test_branches_are_independent() -> None:
    split = split_backbone("mgn", TinyBranchingBackbone(), (2, 2))
    first, second = (dict(branch.named_parameters()) for branch in split.branches)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert all(first[name] is not second[name] for name in first)


def test_conditions_go_to_the_trunk() -> None:
    torch.manual_seed(0)
    split = split_backbone("transreid", TinyBranchingTransformer(num_cameras=2), (None,)).eval()
    images = torch.randn(1, 3, 64, 32).expand(2, -1, -1, -1)
    assert split.conditions == ("camids",)
    (tokens,) = split(images, camids=torch.tensor([0, 1]))
    assert not torch.allclose(tokens[0], tokens[1])


def test_a_backbone_in_one_piece_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"TinyBackbone .* has no method split; use osnet_"):
        split_backbone("mgn", TinyBackbone(), (2, 1))


def test_the_error_of_a_stride_names_the_parameters() -> None:
    with pytest.raises(ConfigError, match=r"(?s)last_strides.*model.global_stride.*null keeps"):
        split_backbone("mgn", TinyBranchingTransformer(), (2, 1))


def test_a_missing_branch_is_an_error_of_the_backbone() -> None:
    class Short(TinyBranchingBackbone):
        def split(self, *, last_strides: Sequence[object]) -> tuple[nn.Module, list[nn.Module]]:
            return self.stem, []

    with pytest.raises(PluginError, match="gave 0 branches; expected one for each entry"):
        split_backbone("mgn", Short(), (None, None))


def test_a_branch_without_a_tensor_is_an_error_of_the_backbone() -> None:
    class Pair(nn.Module):
        def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
            return features, features

    split = split_backbone("mgn", TinyBranchingBackbone(), (None,))
    split.branches[0] = Pair()
    with pytest.raises(PluginError, match=r"Pair .* gave a tuple; expected a tensor"):
        split(torch.randn(2, 3, 64, 32))


def test_maps_and_tokens_are_told_apart() -> None:
    assert require_map("mgn", TinyBranchingBackbone()) == 16
    assert require_tokens("transreid", TinyBranchingTransformer()) == (16, 1)
    with pytest.raises(ConfigError, match=r"model mgn cuts feature maps, .* gives tokens"):
        require_map("mgn", TinyBranchingTransformer())
    with pytest.raises(
        ConfigError, match=r"needs a transformer with a class token, .* gives a map"
    ):
        require_tokens("transreid", TinyBranchingBackbone())


def test_tokens_without_a_class_token_are_an_error() -> None:
    backbone = TinyBranchingTransformer()
    backbone.num_prefix_tokens = 0
    with pytest.raises(ConfigError, match="gives tokens without a class token"):
        require_tokens("transreid", backbone)


def test_a_backbone_that_does_not_know_its_width_is_an_error() -> None:
    backbone = TinyBranchingBackbone()
    backbone.feature_dim = 0
    with pytest.raises(PluginError, match="has feature_dim 0; expected a positive integer"):
        require_map("mgn", backbone)
