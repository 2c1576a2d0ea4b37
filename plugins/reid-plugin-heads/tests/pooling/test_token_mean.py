import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.token_mean import TokenMeanPooling


def test_plain_loops_give_the_same_mean_of_the_patches() -> None:
    tokens = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0))
    pooled = TokenMeanPooling(FeatureLayout(3, num_prefix_tokens=2))(tokens)
    for image in range(2):
        for channel in range(3):
            total = sum(float(tokens[image, patch, channel]) for patch in range(2, 6))
            assert pooled[image, channel].item() == pytest.approx(total / 4, rel=1e-5)


def test_half_precision_tokens_pool_to_float32() -> None:
    tokens = torch.rand(2, 200, 3).half()
    pooled = TokenMeanPooling(FeatureLayout(3, num_prefix_tokens=0))(tokens)
    torch.testing.assert_close(pooled, tokens.float().mean(1))


def test_a_map_is_refused() -> None:
    with pytest.raises(ConfigError, match="returns a feature map; use pooling: avg"):
        TokenMeanPooling(FeatureLayout(3))
