from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.base import Pooling
from reid_plugin_heads.pooling.gem import GemPooling, LearnedGemPooling


@pytest.mark.parametrize("pooling", [GemPooling, LearnedGemPooling])
def test_maps_pool_to_the_reference_values(
    golden: Mapping[str, Tensor], pooling: type[Pooling]
) -> None:
    pooled = pooling(FeatureLayout(8))(golden["feature_map"])
    expected = golden["pool/GeneralizedMeanPooling"]
    torch.testing.assert_close(pooled.detach(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("exponent", [3.0, 1.0, 0.5, 6.5])
@pytest.mark.parametrize("kind", [GemPooling, LearnedGemPooling])
def test_plain_loops_give_the_same_mean(
    kind: type[GemPooling] | type[LearnedGemPooling], exponent: float
) -> None:
    features = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(1)).double()
    pooled = kind(FeatureLayout(3), exponent=exponent).double()(features)
    for row in range(2):
        for channel in range(3):
            values = features[row, channel].flatten().tolist()
            mean = sum(max(value, 1e-6) ** exponent for value in values) / len(values)
            assert pooled[row, channel].item() == pytest.approx(mean ** (1 / exponent), rel=1e-12)


def test_float16_does_not_underflow() -> None:
    features = torch.full((1, 1, 2, 2), 2.0**-10, dtype=torch.float16)
    assert GemPooling(FeatureLayout(1))(features).item() == pytest.approx(2.0**-10, rel=1e-5)


def test_the_exponent_is_learned_and_larger_ones_come_nearer_to_the_maximum() -> None:
    pooling = LearnedGemPooling(FeatureLayout(1))
    assert pooling.p.tolist() == [3.0]
    features = torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 2, 2)
    pooling(features).sum().backward()
    assert pooling.p.grad is not None
    assert pooling.p.grad.item() > 0
    with torch.no_grad():
        pooling.p.fill_(100.0)
    assert 3.9 < pooling(features / 4).item() * 4 < 4.0


def test_gradients_are_right() -> None:
    pooling = LearnedGemPooling(FeatureLayout(2)).double()
    features = torch.rand(2, 2, 2, 3, generator=torch.Generator().manual_seed(2)).double() + 0.1
    features.requires_grad_()
    assert torch.autograd.gradcheck(pooling, (features,))


def test_a_map_of_zeros_has_a_finite_gradient() -> None:
    pooling = LearnedGemPooling(FeatureLayout(2))
    features = torch.zeros(1, 2, 2, 2, requires_grad=True)
    pooling(features).sum().backward()
    assert features.grad is not None
    assert pooling.p.grad is not None
    assert torch.isfinite(features.grad).all()
    assert torch.isfinite(pooling.p.grad).all()


@pytest.mark.parametrize("exponent", [0.0, -1.0])
def test_an_exponent_that_is_not_above_zero_is_an_error(exponent: float) -> None:
    for kind in (GemPooling, LearnedGemPooling):
        with pytest.raises(ConfigError, match=f"gem_exponent: got {exponent}"):
            kind(FeatureLayout(1), exponent=exponent)
