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


@pytest.mark.parametrize("name", [n for n in get_args(PoolingName) if n != "class_token"])
def test_every_name_but_class_token_pools_maps(name: PoolingName) -> None:
    assert build_pooling(name, FeatureLayout(6))(torch.rand(2, 6, 4, 2)).shape == (2, 6)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"pooling: got 'gemm'.*class_token; did you mean gem\?"):
        build_pooling(cast("PoolingName", "gemm"), FeatureLayout(6))
