import pytest
import torch

from reid_core.errors import ConfigError, PluginError
from reid_plugin_heads.linear import LinearHead


def feature_map() -> torch.Tensor:
    return torch.randn(8, 6, 4, 2, generator=torch.Generator().manual_seed(0))


def test_the_pooled_feature_is_embedding_and_metric_feature_in_both_modes() -> None:
    head = LinearHead(feature_dim=6, num_classes=5)
    for output in (head(feature_map()), head.eval()(feature_map())):
        torch.testing.assert_close(output.embedding, feature_map().mean(dim=(2, 3)))
        torch.testing.assert_close(output.features["global"], output.embedding)
    assert head.embedding_dim == 6


def test_logits_are_a_linear_map_of_the_pooled_feature() -> None:
    head = LinearHead(feature_dim=6, num_classes=5, pooling="max")
    assert head.classifier is not None
    with torch.no_grad():
        head.classifier.bias.uniform_(-1, 1)
    by_hand = feature_map().amax(dim=(2, 3)) @ head.classifier.weight.T + head.classifier.bias
    torch.testing.assert_close(head(feature_map()).logits["global"], by_hand)


def test_every_parameter_learns_from_the_logits() -> None:
    head = LinearHead(feature_dim=6, num_classes=5, pooling="gem_learned")
    head(feature_map()).logits["global"].square().sum().backward()
    assert {n for n, p in head.named_parameters() if p.grad is not None and p.grad.any()} == {
        "pooling.p",
        "classifier.weight",
        "classifier.bias",
    }


def test_the_classifier_starts_at_small_weights_and_no_bias() -> None:
    torch.manual_seed(0)
    classifier = LinearHead(feature_dim=512, num_classes=200).classifier
    assert classifier is not None
    assert classifier.weight.std().item() == pytest.approx(0.01, rel=0.02)
    assert not classifier.bias.any()


def test_logits_are_for_training_with_a_classifier() -> None:
    assert LinearHead(feature_dim=6, num_classes=5)(feature_map()).logits
    assert not LinearHead(feature_dim=6, num_classes=5).eval()(feature_map()).logits
    assert not LinearHead(feature_dim=6, num_classes=None)(feature_map()).logits


def test_tokens_work_as_maps_do() -> None:
    tokens = torch.rand(8, 5, 6)
    head = LinearHead(feature_dim=6, num_classes=5, num_prefix_tokens=1, pooling="class_token")
    assert torch.equal(head(tokens).embedding, tokens[:, 0])


def test_a_head_cast_to_half_precision_still_trains() -> None:
    head = LinearHead(feature_dim=6, num_classes=5).bfloat16()
    assert head(feature_map().bfloat16()).logits["global"].dtype == torch.bfloat16


def test_wrong_parameters_and_features_are_errors() -> None:
    with pytest.raises(ConfigError, match="class_token"):
        LinearHead(feature_dim=6, num_classes=5, num_prefix_tokens=0, pooling="class_token")
    with pytest.raises(PluginError, match="expected a map"):
        LinearHead(feature_dim=6, num_classes=5)(torch.zeros(2, 5, 6))
