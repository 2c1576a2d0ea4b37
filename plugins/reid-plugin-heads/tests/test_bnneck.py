from typing import cast

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError, PluginError
from reid_plugin_heads.bnneck import BNNeckHead
from reid_plugin_heads.necks.sides import NeckSide
from reid_plugin_heads.pooling.build import PoolingName


def feature_map(batch: int = 8, channels: int = 6, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, channels, 4, 2, generator=generator)


def used_head(metric_feature: NeckSide = "before", test_feature: NeckSide = "after") -> BNNeckHead:
    """Return a head whose statistics and scale are no longer those of the start."""
    torch.manual_seed(0)
    head = BNNeckHead(
        feature_dim=6, num_classes=5, metric_feature=metric_feature, test_feature=test_feature
    )
    for seed in range(5):
        head(feature_map(seed=seed) * 3 + 1)
    with torch.no_grad():
        head.bottleneck.weight.uniform_(0.5, 2.0)
    return head.eval()


def test_the_embedding_is_the_batch_normalised_mean() -> None:
    head = used_head()
    features = feature_map(seed=9)
    norm = head.bottleneck
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight / torch.sqrt(norm.running_var + 1e-5)
    by_hand = (features.mean(dim=(2, 3)) - norm.running_mean) * scale
    torch.testing.assert_close(head(features).embedding, by_hand)


def test_training_normalises_with_the_statistics_of_the_batch() -> None:
    head = BNNeckHead(feature_dim=6, num_classes=5)
    pooled = feature_map().mean(dim=(2, 3))
    by_hand = (pooled - pooled.mean(0)) / torch.sqrt(pooled.var(0, unbiased=False) + 1e-5)
    output = head(feature_map())
    torch.testing.assert_close(output.embedding, by_hand)
    assert head.classifier is not None
    torch.testing.assert_close(output.logits["global"], by_hand @ head.classifier.weight.T)


@pytest.mark.parametrize("metric_feature", ["before", "after"])
@pytest.mark.parametrize("test_feature", ["before", "after"])
def test_each_side_of_the_neck_can_be_chosen(
    metric_feature: NeckSide, test_feature: NeckSide
) -> None:
    head = used_head(metric_feature=metric_feature, test_feature=test_feature)
    features = feature_map(seed=9)
    before = features.mean(dim=(2, 3))
    sides = {"before": before, "after": head.bottleneck(before)}
    assert not torch.allclose(sides["before"], sides["after"])
    output = head(features)
    torch.testing.assert_close(output.features["global"], sides[metric_feature])
    torch.testing.assert_close(output.embedding, sides[test_feature])


def test_the_bias_of_the_neck_stays_zero_while_everything_else_learns() -> None:
    torch.manual_seed(0)
    head = BNNeckHead(feature_dim=6, num_classes=5, pooling="gem_learned", embedding_dim=4)
    start = {name: value.clone() for name, value in head.named_parameters()}
    optimizer = torch.optim.Adam(head.parameters(), lr=0.1, weight_decay=0.1)
    pids = torch.arange(8) % 5
    for seed in range(3):
        output = head(feature_map(seed=seed), pids)
        loss = torch.nn.functional.cross_entropy(output.logits["global"], pids)
        optimizer.zero_grad()
        (loss + output.features["global"].square().mean()).backward()
        optimizer.step()
    changed = {n for n, value in head.named_parameters() if not torch.equal(value, start[n])}
    assert changed == {"pooling.p", "reduction.weight", "bottleneck.weight", "classifier.weight"}
    assert torch.equal(head.bottleneck.bias, torch.zeros(4))


def test_a_gradient_reaches_the_features_through_logits_and_metric_feature_alone() -> None:
    head = BNNeckHead(feature_dim=6, num_classes=5)
    for pick in ("logits", "features"):
        features = feature_map().requires_grad_()
        getattr(head(features), pick)["global"].square().sum().backward()
        assert features.grad is not None
        assert features.grad.abs().sum() > 0


def test_the_classifier_starts_small_and_has_no_bias() -> None:
    torch.manual_seed(0)
    head = BNNeckHead(feature_dim=512, num_classes=200)
    assert head.classifier is not None
    assert "classifier.bias" not in head.state_dict()
    assert head.classifier.weight.std().item() == pytest.approx(0.001, rel=0.02)


def test_an_embedding_dim_narrows_every_feature() -> None:
    head = BNNeckHead(feature_dim=6, num_classes=5, embedding_dim=3)
    output = head(feature_map())
    assert head.embedding_dim == 3
    assert output.embedding.shape == (8, 3)
    assert output.features["global"].shape == (8, 3)
    assert output.logits["global"].shape == (8, 5)


def test_without_embedding_dim_the_width_is_the_backbones() -> None:
    assert BNNeckHead(feature_dim=6, num_classes=5).embedding_dim == 6


def test_without_classes_there_is_no_classifier_and_no_logits() -> None:
    head = BNNeckHead(feature_dim=6, num_classes=None)
    assert head.classifier is None
    assert not [name for name in head.state_dict() if name.startswith("classifier")]
    assert not head(feature_map()).logits
    assert head.eval()(feature_map()).embedding.shape == (8, 6)


def test_evaluation_gives_no_logits() -> None:
    assert not used_head()(feature_map()).logits


def test_an_embedding_does_not_depend_on_the_rest_of_the_batch() -> None:
    head = used_head()
    features = feature_map(seed=9)
    torch.testing.assert_close(head(features).embedding[2:3], head(features[2:3]).embedding)


@pytest.mark.parametrize("pooling", ["avg", "class_token"])
def test_tokens_are_read_with_their_prefix(pooling: PoolingName) -> None:
    tokens = torch.randn(8, 5, 6, generator=torch.Generator().manual_seed(0))
    head = BNNeckHead(feature_dim=6, num_classes=5, num_prefix_tokens=1, pooling=pooling)
    expected = tokens[:, 1:].mean(dim=1) if pooling == "avg" else tokens[:, 0]
    torch.testing.assert_close(head(tokens).features["global"], expected)


def test_features_stay_float32_under_autocast() -> None:
    head = BNNeckHead(feature_dim=6, num_classes=5, embedding_dim=4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = head(feature_map().bfloat16())
    assert output.embedding.dtype == output.features["global"].dtype == torch.float32
    assert torch.isfinite(output.logits["global"]).all()


def test_a_head_cast_to_half_precision_still_embeds() -> None:
    features = feature_map(seed=9)
    expected = used_head()(features).embedding
    half = used_head().bfloat16()(features.bfloat16()).embedding
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), expected, rtol=0.05, atol=0.05)


def test_a_misspelt_side_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"test_feature: got 'affter'.*did you mean after\?"):
        BNNeckHead(feature_dim=6, num_classes=5, test_feature=cast("NeckSide", "affter"))
    with pytest.raises(ConfigError, match="metric_feature: got 'neck'"):
        BNNeckHead(feature_dim=6, num_classes=5, metric_feature=cast("NeckSide", "neck"))


def test_a_class_token_of_a_map_is_an_error() -> None:
    with pytest.raises(ConfigError, match="class_token"):
        BNNeckHead(feature_dim=6, num_classes=5, pooling="class_token")


def test_a_width_below_one_is_an_error() -> None:
    with pytest.raises(ConfigError, match="embedding_dim: got 0"):
        BNNeckHead(feature_dim=6, num_classes=5, embedding_dim=0)


def test_features_of_another_width_are_an_error() -> None:
    with pytest.raises(PluginError, match=r"shape \(8, 7, 4, 2\)"):
        BNNeckHead(feature_dim=6, num_classes=5)(feature_map(channels=7))
