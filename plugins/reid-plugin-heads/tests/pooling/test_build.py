from typing import cast, get_args

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.build import PoolingName, build_pooling


@pytest.mark.parametrize("name", get_args(PoolingName))
def test_every_name_pools_tokens_to_one_vector_an_image(name: PoolingName) -> None:
    pooling = build_pooling(name, FeatureLayout(6, num_prefix_tokens=1))
    assert pooling(torch.rand(2, 5, 6)).shape == (2, 6)


@pytest.mark.parametrize(
    "name", [name for name in get_args(PoolingName) if name not in ("class_token", "token_mean")]
)
def test_every_name_without_token_in_it_pools_maps(name: PoolingName) -> None:
    assert build_pooling(name, FeatureLayout(6))(torch.rand(2, 6, 4, 2)).shape == (2, 6)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"pooling: got 'gemm'.*attention; did you mean gem\?"):
        build_pooling(cast("PoolingName", "gemm"), FeatureLayout(6))


def test_the_exponent_reaches_both_generalised_means() -> None:
    gem = build_pooling("gem", FeatureLayout(6), gem_exponent=5.0)
    learned = build_pooling("gem_learned", FeatureLayout(6), gem_exponent=5.0)
    features = torch.rand(2, 6, 4, 2)
    torch.testing.assert_close(gem(features), learned(features).detach())
    assert learned.state_dict()["p"].tolist() == [5.0]
    assert not torch.allclose(gem(features), build_pooling("gem", FeatureLayout(6))(features))


def test_an_exponent_for_a_pooling_without_one_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"gem_exponent: got 5.0, but pooling avg.*pooling: gem "):
        build_pooling("avg", FeatureLayout(6), gem_exponent=5.0)
