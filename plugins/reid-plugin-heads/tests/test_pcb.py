import math
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError, PluginError
from reid_plugin_heads.pcb import PCBHead, Reduction, StripeFeature, StripeReduction


def feature_map(seed: int = 0, height: int = 7) -> Tensor:
    return torch.randn(4, 5, height, 2, generator=torch.Generator().manual_seed(seed))


def head_of(
    reduction: Reduction = "shared",
    test_feature: StripeFeature = "pooled",
    metric_feature: StripeFeature = "reduced",
    dropout: float = 0.0,
    num_classes: int | None = 6,
) -> PCBHead:
    torch.manual_seed(0)
    return PCBHead(
        feature_dim=5,
        num_classes=num_classes,
        stripes=3,
        dropout=dropout,
        reduced_dim=4,
        reduction=reduction,
        metric_feature=metric_feature,
        test_feature=test_feature,
    )


def pooled_by_loops(features: Tensor, count: int = 3) -> Tensor:
    """Return (B, P, C) means of the stripes."""
    images, channels, height, width = features.shape
    pooled = torch.zeros(images, count, channels)
    for image in range(images):
        for part in range(count):
            first = math.floor(part * height / count)
            last = math.ceil((part + 1) * height / count)
            for channel in range(channels):
                values = [
                    float(features[image, channel, row, column])
                    for row in range(first, last)
                    for column in range(width)
                ]
                pooled[image, part, channel] = sum(values) / len(values)
    return pooled


def reduced_by_hand(rows: Tensor, reduction: StripeReduction) -> Tensor:
    """Return rows (M, C) reduced with the statistics of these rows."""
    values = rows @ reduction.linear.weight.detach().T
    variance = values.var(0, unbiased=False)
    return ((values - values.mean(0)) / torch.sqrt(variance + 1e-5)).clamp(min=0)


@pytest.mark.parametrize("reduction", ["shared", "separate"])
def test_training_equals_plain_loops(reduction: Reduction) -> None:
    head = head_of(reduction)
    output = head(feature_map())
    pooled = pooled_by_loops(feature_map())
    layers = [cast("StripeReduction", layer) for layer in head.reductions]
    if reduction == "shared":
        reduced = reduced_by_hand(pooled.flatten(0, 1), layers[0]).reshape(4, 3, 4)
    else:
        reduced = torch.stack([reduced_by_hand(pooled[:, i], layers[i]) for i in range(3)], dim=1)
    assert list(output.features) == list(output.logits) == ["part_0", "part_1", "part_2"]
    for part in range(3):
        torch.testing.assert_close(output.features[f"part_{part}"].detach(), reduced[:, part])
        classifier = cast("nn.Linear", head.classifiers[part])
        expected = reduced[:, part] @ classifier.weight.T + classifier.bias
        torch.testing.assert_close(output.logits[f"part_{part}"], expected)


def test_the_embedding_is_each_stripe_at_unit_length_from_the_top_down() -> None:
    head = head_of().eval()
    pooled = pooled_by_loops(feature_map())
    expected = torch.cat(
        [pooled[:, i] / pooled[:, i].norm(dim=1, keepdim=True) for i in range(3)], 1
    )
    torch.testing.assert_close(head(feature_map()).embedding, expected)
    assert head.embedding_dim == 15


def test_the_reduced_variant_embeds_the_reduced_stripes() -> None:
    head = head_of(test_feature="reduced").eval()
    output = head(feature_map())
    parts = [output.features[f"part_{i}"] for i in range(3)]
    expected = torch.cat([part / part.norm(dim=1, keepdim=True) for part in parts], dim=1)
    torch.testing.assert_close(output.embedding, expected)
    assert head.embedding_dim == 12


def test_metric_losses_may_read_the_pooled_stripes() -> None:
    output = head_of(metric_feature="pooled")(feature_map())
    for part in range(3):
        torch.testing.assert_close(
            output.features[f"part_{part}"], pooled_by_loops(feature_map())[:, part]
        )


def test_a_shared_reduction_is_one_and_separate_ones_are_as_many_as_stripes() -> None:
    assert len(head_of("shared").reductions) == 1
    assert len(head_of("separate").reductions) == 3


def test_the_published_defaults_give_12288_numbers_for_a_resnet() -> None:
    head = PCBHead(feature_dim=2048, num_classes=5)
    output = head(torch.rand(2, 2048, 24, 8))
    assert head.embedding_dim == 12288
    assert output.embedding.shape == (2, 12288)
    assert list(output.features) == [f"part_{i}" for i in range(6)]
    assert output.features["part_5"].shape == (2, 256)
    assert (head.dropout.p, len(head.reductions), len(head.classifiers)) == (0.5, 1, 6)


def test_dropout_thins_the_stripes_before_the_reduction_in_training_only() -> None:
    head = head_of(dropout=0.5)
    torch.manual_seed(1)
    first = head(feature_map()).features["part_0"]
    second = head(feature_map()).features["part_0"]
    assert not torch.allclose(first, second)
    head.eval()
    assert torch.equal(
        head(feature_map()).features["part_0"], head(feature_map()).features["part_0"]
    )


def test_every_parameter_learns_from_the_logits() -> None:
    for reduction in ("shared", "separate"):
        head = head_of(cast("Reduction", reduction))
        logits = head(feature_map()).logits.values()
        sum(torch.nn.functional.cross_entropy(each, torch.arange(4)) for each in logits).backward()
        for name, parameter in head.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


def test_weights_of_a_trained_head_fit_one_without_classes() -> None:
    trained = head_of()
    trained(feature_map())
    embedder = head_of(num_classes=None)
    keys = embedder.load_state_dict(trained.state_dict(), strict=False)
    assert not keys.missing_keys
    assert all("classifier" in key for key in keys.unexpected_keys)
    assert not embedder(feature_map()).logits
    assert torch.equal(
        embedder.eval()(feature_map()).embedding, trained.eval()(feature_map()).embedding
    )


def test_evaluation_gives_no_logits() -> None:
    assert not head_of().eval()(feature_map()).logits


def test_outputs_stay_float32_under_autocast() -> None:
    head = head_of()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = head(feature_map().bfloat16())
    assert output.embedding.dtype == output.features["part_0"].dtype == torch.float32


def test_a_black_map_embeds_to_zeros_with_a_finite_gradient() -> None:
    features = torch.zeros(2, 5, 6, 2, requires_grad=True)
    head_of().eval()(features).embedding.sum().backward()
    assert features.grad is not None
    assert torch.isfinite(features.grad).all()


@pytest.mark.parametrize("num_prefix_tokens", [0, 1])
def test_tokens_are_refused(num_prefix_tokens: int) -> None:
    with pytest.raises(ConfigError, match="this backbone returns tokens; use a convolutional"):
        PCBHead(feature_dim=5, num_classes=6, num_prefix_tokens=num_prefix_tokens)


def test_a_map_lower_than_the_stripes_is_an_error() -> None:
    with pytest.raises(ConfigError, match="2 rows, too few for 3 stripes"):
        head_of()(feature_map(height=2))


def test_features_of_another_width_are_an_error() -> None:
    with pytest.raises(PluginError, match="expected a map"):
        head_of()(torch.rand(2, 4, 6, 2))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stripes": 0}, "stripes: got 0"),
        ({"reduced_dim": 0}, "reduced_dim: got 0"),
        ({"dropout": 1.5}, "dropout: got 1.5, expected 0 to 1"),
        ({"reduction": "share"}, r"reduction: got 'share'.*did you mean shared\?"),
        ({"metric_feature": "before"}, "metric_feature: got 'before'"),
        ({"test_feature": "after"}, "test_feature: got 'after'"),
    ],
)
def test_wrong_parameters_are_errors(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PCBHead(feature_dim=5, num_classes=6, **parameters)
