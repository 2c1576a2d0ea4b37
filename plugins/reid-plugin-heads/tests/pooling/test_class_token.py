import pytest
import torch

from reid_core.errors import ConfigError, PluginError
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.class_token import ClassTokenPooling


def test_the_first_token_comes_out_in_float32() -> None:
    tokens = torch.rand(2, 5, 3).half()
    pooled = ClassTokenPooling(FeatureLayout(3, num_prefix_tokens=2))(tokens)
    assert pooled.dtype == torch.float32
    assert torch.equal(pooled, tokens[:, 0].float())


@pytest.mark.parametrize(
    ("num_prefix_tokens", "returns"),
    [(None, "returns a feature map"), (0, "returns patch tokens without a prefix token")],
)
def test_a_backbone_without_a_class_token_is_refused(
    num_prefix_tokens: int | None, returns: str
) -> None:
    with pytest.raises(ConfigError, match=f"{returns}; use pooling: avg"):
        ClassTokenPooling(FeatureLayout(3, num_prefix_tokens))


def test_features_of_another_shape_are_refused() -> None:
    with pytest.raises(PluginError, match="expected tokens"):
        ClassTokenPooling(FeatureLayout(3, 1))(torch.zeros(2, 3, 4, 4))
