import pytest
import torch

from reid_core.contracts import BranchingBackbone
from reid_core.errors import ConfigError
from reid_core.models import conditions_of
from reid_core.testing.tiny_branching import (
    TinyBranchingBackbone,
    TinyBranchingTransformer,
    tiny_branching_parts,
)

IMAGES = torch.randn(2, 3, 64, 32, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", [TinyBranchingBackbone, TinyBranchingTransformer])
def test_a_branch_on_the_trunk_is_the_backbone(kind):
    backbone = kind().eval()
    assert isinstance(backbone, BranchingBackbone)
    trunk, (first, second) = backbone.split(last_strides=[None, None])
    expected = backbone(IMAGES)
    assert torch.equal(first(trunk(IMAGES)), expected)
    assert torch.equal(second(trunk(IMAGES)), expected)
    assert all(a is not b for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_each_branch_of_the_map_has_its_stride():
    trunk, branches = TinyBranchingBackbone().split(last_strides=[1, 2, None])
    sizes = [tuple(branch(trunk(IMAGES)).shape) for branch in branches]
    assert sizes == [(2, 16, 16, 8), (2, 16, 8, 4), (2, 16, 8, 4)]


def test_the_transformer_has_no_stride():
    with pytest.raises(ConfigError, match=r"last_strides: got \[1, None\]"):
        TinyBranchingTransformer().split(last_strides=[1, None])


def test_a_camera_is_a_condition():
    backbone = TinyBranchingTransformer(num_cameras=2).eval()
    assert conditions_of(backbone) == ("camids",)
    same = IMAGES[:1].expand(2, -1, -1, -1)
    first, second = backbone(same, camids=torch.tensor([0, 1]))
    assert not torch.allclose(first, second)


def test_a_model_that_only_embeds_gets_no_losses():
    assert tiny_branching_parts(TinyBranchingBackbone(), None)["losses"] == []
    assert len(tiny_branching_parts(TinyBranchingBackbone(), 3)["losses"]) == 1
