import pytest
import torch
from torch import nn

from reid_plugin_heads.models.reduction import NormalisedReduction


@pytest.mark.parametrize("has_relu", [True, False])
def test_it_is_the_published_convolution_on_a_pooled_feature(has_relu: bool) -> None:
    torch.manual_seed(0)
    reduction = NormalisedReduction(feature_dim=6, embedding_dim=4, has_relu=has_relu)
    with torch.no_grad():
        reduction.norm.weight.uniform_(0.5, 2)
        reduction.norm.bias.uniform_(-1, 1)
    convolution, norm = nn.Conv2d(6, 4, 1, bias=False), nn.BatchNorm2d(4)
    convolution.load_state_dict({"weight": reduction.reduction.weight[:, :, None, None]})
    norm.load_state_dict(reduction.norm.state_dict())
    pooled = torch.randn(5, 6)
    for _ in range(2):
        published = norm(convolution(pooled[:, :, None, None]))[:, :, 0, 0]
        before, after = reduction(pooled)
        torch.testing.assert_close(after, published.relu() if has_relu else published)
        assert before is after
        reduction.eval()
        norm.eval()


def test_its_bias_learns() -> None:
    reduction = NormalisedReduction(feature_dim=6, embedding_dim=4)
    reduction(torch.randn(5, 6))[0].sum().backward()
    assert reduction.norm.bias.grad is not None
    assert reduction.norm.bias.grad.any()


def test_it_is_float32_under_autocast() -> None:
    reduction = NormalisedReduction(feature_dim=6, embedding_dim=4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert reduction(torch.randn(5, 6).bfloat16())[0].dtype == torch.float32
