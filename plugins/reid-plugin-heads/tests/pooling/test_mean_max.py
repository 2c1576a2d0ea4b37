from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import Pooling
from reid_plugin_heads.pooling.mean_max import (
    AvgMaxPooling,
    AvgPooling,
    ClippedAvgPooling,
    MaxPooling,
)

ALL = [AvgPooling, MaxPooling, AvgMaxPooling, ClippedAvgPooling]


@pytest.mark.parametrize(
    ("pooling", "name"),
    [
        (AvgPooling, "GlobalAvgPool"),
        (MaxPooling, "GlobalMaxPool"),
        (AvgMaxPooling, "AdaptiveAvgMaxPool"),
        (ClippedAvgPooling, "ClipGlobalAvgPool"),
    ],
)
def test_maps_pool_to_the_reference_values(
    golden: Mapping[str, Tensor], pooling: type[Pooling], name: str
) -> None:
    pooled = pooling(FeatureLayout(8))(golden["feature_map"])
    torch.testing.assert_close(pooled, golden[f"pool/{name}"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", ALL)
def test_patch_tokens_pool_like_the_map_they_come_from(pooling: type[Pooling]) -> None:
    image_plane = torch.randn(2, 6, 4, 3, generator=torch.Generator().manual_seed(0))
    prefix = torch.full((2, 2, 6), 100.0)
    tokens = torch.cat([prefix, image_plane.flatten(2).transpose(1, 2)], dim=1)
    torch.testing.assert_close(
        pooling(FeatureLayout(6, num_prefix_tokens=2))(tokens),
        pooling(FeatureLayout(6))(image_plane),
    )


@pytest.mark.parametrize("pooling", ALL)
def test_half_precision_maps_pool_to_float32(pooling: type[Pooling]) -> None:
    features = torch.randn(2, 6, 16, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    pooled = pooling(FeatureLayout(6))(features)
    torch.testing.assert_close(pooled, pooling(FeatureLayout(6))(features.float()))
    assert pooled.dtype == torch.float32


def test_double_precision_stays() -> None:
    assert AvgPooling(FeatureLayout(1))(torch.zeros(1, 1, 2, 2).double()).dtype == torch.float64


def test_a_clipped_mean_stays_within_zero_and_one() -> None:
    features = torch.tensor([[-2.0, 1.0], [0.2, 0.4], [1.0, 3.0]]).reshape(1, 3, 1, 2)
    features.requires_grad_()
    pooled = ClippedAvgPooling(FeatureLayout(3))(features)
    assert pooled.tolist() == [[0.0, pytest.approx(0.3), 1.0]]
    pooled.sum().backward()
    assert features.grad is not None
    assert features.grad.flatten().tolist() == [0.0, 0.0, 0.5, 0.5, 0.0, 0.0]


def test_the_gradient_of_a_maximum_goes_to_one_position_even_on_a_tie() -> None:
    features = torch.ones(1, 1, 2, 2, requires_grad=True)
    MaxPooling(FeatureLayout(1))(features).sum().backward()
    assert features.grad is not None
    assert features.grad.flatten().tolist() == [1.0, 0.0, 0.0, 0.0]
