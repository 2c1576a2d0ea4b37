import math

import pytest
import torch
from torch import Tensor

from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.attention import AttentionPooling


def trained(layout: FeatureLayout) -> AttentionPooling:
    pooling = AttentionPooling(layout)
    with torch.no_grad():
        pooling.query.copy_(
            torch.randn(layout.feature_dim, generator=torch.Generator().manual_seed(5)) * 2
        )
    return pooling


def by_loops(values: list[list[float]], query: list[float]) -> list[float]:
    """Pool positions, each a list of channels."""
    scores = [
        sum(q * x for q, x in zip(query, position, strict=True)) / math.sqrt(len(query))
        for position in values
    ]
    weights = [math.exp(score - max(scores)) for score in scores]
    return [
        sum(weight * position[channel] for weight, position in zip(weights, values, strict=True))
        / sum(weights)
        for channel in range(len(query))
    ]


def test_plain_loops_give_the_same_vector_for_a_map() -> None:
    features = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(0))
    pooling = trained(FeatureLayout(3))
    pooled = pooling(features)
    for image in range(2):
        positions = features[image].flatten(1).T.tolist()
        expected = by_loops(positions, pooling.query.tolist())
        assert pooled[image].tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_tokens_pool_like_the_map_they_come_from() -> None:
    features = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(0))
    prefix = torch.full((2, 1, 3), 50.0)
    tokens = torch.cat([prefix, features.flatten(2).transpose(1, 2)], dim=1)
    torch.testing.assert_close(
        trained(FeatureLayout(3, num_prefix_tokens=1))(tokens), trained(FeatureLayout(3))(features)
    )


def test_it_starts_as_the_mean() -> None:
    features = torch.randn(2, 3, 4, 2)
    torch.testing.assert_close(
        AttentionPooling(FeatureLayout(3))(features).detach(), features.mean(dim=(2, 3))
    )


def test_the_query_learns_from_the_start() -> None:
    pooling = AttentionPooling(FeatureLayout(3))
    pooling(torch.randn(2, 3, 4, 2)).square().sum().backward()
    assert pooling.query.grad is not None
    assert pooling.query.grad.abs().sum() > 0


def test_gradients_are_right() -> None:
    pooling = trained(FeatureLayout(3)).double()
    features = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)

    def pool(values: Tensor, query: Tensor) -> Tensor:
        return torch.func.functional_call(pooling, {"query": query}, (values,))

    assert torch.autograd.gradcheck(pool, (features, pooling.query))


def test_it_computes_in_float32_under_autocast_and_for_large_half_precision_maps() -> None:
    features = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(0)) * 100
    pooling = trained(FeatureLayout(3))
    expected = pooling(features)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(pooling(features), expected)
        pooled = pooling(features.half())
    assert pooled.dtype == torch.float32
    torch.testing.assert_close(pooled, expected, rtol=1e-2, atol=0.2)
