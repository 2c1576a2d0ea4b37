from typing import cast, get_args

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.registries import HEADS
from reid_plugin_heads.classifiers import ClassifierName, build_classifier
from reid_plugin_heads.classifiers.subcenter_arcface import SubCenterArcFaceClassifier
from reid_plugin_heads.embedding import EmbeddingHead, MetricSide
from reid_plugin_heads.necks import NeckName
from reid_plugin_heads.necks.sides import NeckSide
from reid_plugin_heads.pooling.build import PoolingName


def feature_map(batch: int = 8, channels: int = 6, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, channels, 4, 2, generator=generator)


def used_head(
    neck: NeckName = "bnneck",
    embedding_dim: int | None = None,
    metric_feature: MetricSide = "before",
    test_feature: NeckSide = "after",
) -> EmbeddingHead:
    """Return a head whose statistics are no longer those of the start."""
    torch.manual_seed(0)
    head = EmbeddingHead(
        feature_dim=6,
        num_classes=5,
        neck=neck,
        embedding_dim=embedding_dim,
        metric_feature=metric_feature,
        test_feature=test_feature,
    )
    for seed in range(5):
        head(feature_map(seed=seed) * 3 + 1)
    return head.eval()


def test_each_stage_feeds_the_next() -> None:
    head = used_head("reduction_bnneck", 4)
    features = feature_map(seed=9)
    reduction, norm = head.neck.reduction, head.neck.bottleneck
    assert reduction is not None
    assert norm is not None
    assert norm.running_mean is not None
    assert norm.running_var is not None
    pooled = features.mean(dim=(2, 3))
    before = pooled @ reduction.weight.T
    after = (before - norm.running_mean) / torch.sqrt(norm.running_var + 1e-5)
    stages = head.stages(features)
    torch.testing.assert_close(stages.pooled, pooled)
    torch.testing.assert_close(stages.before, before)
    torch.testing.assert_close(stages.after, after)


@pytest.mark.parametrize("metric_feature", get_args(MetricSide))
@pytest.mark.parametrize("test_feature", get_args(NeckSide))
def test_each_side_can_be_chosen(metric_feature: MetricSide, test_feature: NeckSide) -> None:
    head = used_head("reduction_bnneck", 4, metric_feature, test_feature)
    features = feature_map(seed=9)
    stages, output = head.stages(features), head(features)
    torch.testing.assert_close(output.features["global"], getattr(stages, metric_feature))
    torch.testing.assert_close(output.embedding, getattr(stages, test_feature))
    assert head.embedding_dim == 4


def test_before_and_after_give_different_finite_scores() -> None:
    """Case B084."""
    features = feature_map(seed=9)
    scores = []
    for side in get_args(NeckSide):
        embedding = used_head(test_feature=side)(features).embedding
        scores.append(torch.nn.functional.cosine_similarity(embedding[:1], embedding[1:]))
    assert torch.isfinite(torch.stack(scores)).all()
    assert not torch.allclose(*scores, atol=1e-2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"test_feature": "affter"}, "test_feature"),
        ({"metric_feature": "befor"}, "metric_feature"),
        ({"neck": "bneck"}, "neck"),
        ({"classifier": "arkface"}, "classifier"),
        ({"test_featur": "after"}, "test_featur: unknown parameter; did you mean test_feature"),
    ],
)
def test_a_typo_in_a_config_is_an_error(parameters: dict[str, str], message: str) -> None:
    """Case B084."""
    call = {"name": "embedding", **parameters}
    with pytest.raises(ConfigError, match=message):
        HEADS.build(call, feature_dim=6, num_classes=5, num_prefix_tokens=None)


def test_typos_are_errors_without_a_config_too() -> None:
    with pytest.raises(ConfigError, match=r"test_feature: got 'affter'.*did you mean after\?"):
        EmbeddingHead(feature_dim=6, num_classes=5, test_feature=cast("NeckSide", "affter"))
    with pytest.raises(ConfigError, match="metric_feature: got 'neck'"):
        EmbeddingHead(feature_dim=6, num_classes=5, metric_feature=cast("MetricSide", "neck"))


@pytest.mark.parametrize("name", get_args(ClassifierName))
def test_logits_are_those_of_the_classifier_on_the_feature_after_the_neck(
    name: ClassifierName,
) -> None:
    head = EmbeddingHead(feature_dim=6, num_classes=5, classifier=name, scale=9.0)
    alone = build_classifier(name, embedding_dim=6, num_classes=5, scale=9.0)
    assert head.classifier is not None
    alone.load_state_dict(head.classifier.state_dict())
    pids = torch.arange(8) % 5
    output = head(feature_map(), pids)
    logits, scores = alone(head.stages(feature_map()).after, pids)
    torch.testing.assert_close(output.logits["global"], logits)
    if alone.has_margin:
        assert output.scores is not None
        torch.testing.assert_close(output.scores["global"], scores)
        assert not torch.allclose(logits, scores)
    else:
        assert output.scores is None


def test_classifier_parameters_reach_the_classifier() -> None:
    head = EmbeddingHead(
        feature_dim=6,
        num_classes=5,
        classifier="subcenter_arcface",
        scale=20.0,
        margin=0.1,
        centers=4,
        past_pi="plain",
    )
    classifier = head.classifier
    assert isinstance(classifier, SubCenterArcFaceClassifier)
    assert (classifier.scale, classifier.margin) == (20.0, 0.1)
    assert (classifier.centers, classifier.past_pi) == (4, "plain")


def test_a_margin_without_labels_in_training_is_an_error() -> None:
    head = EmbeddingHead(feature_dim=6, num_classes=5, classifier="cosface")
    with pytest.raises(PluginError, match=r"no labels in training.*head\(features, pids\)"):
        head(feature_map())
    assert head.eval()(feature_map()).embedding.shape == (8, 6)


@pytest.mark.parametrize("num_classes", [5, None])
def test_a_parameter_without_use_is_an_error_with_and_without_classes(
    num_classes: int | None,
) -> None:
    with pytest.raises(ConfigError, match=r"margin: got 0.3, but classifier linear"):
        EmbeddingHead(feature_dim=6, num_classes=num_classes, margin=0.3)
    with pytest.raises(ConfigError, match="embedding_dim: got 4, but neck bnneck"):
        EmbeddingHead(feature_dim=6, num_classes=num_classes, embedding_dim=4)
    with pytest.raises(ConfigError, match=r"gem_exponent: got 2.0, but pooling avg"):
        EmbeddingHead(feature_dim=6, num_classes=num_classes, gem_exponent=2.0)


def test_everything_but_the_bias_of_the_neck_learns() -> None:
    head = EmbeddingHead(
        feature_dim=6,
        num_classes=5,
        pooling="gem_learned",
        neck="reduction_bnneck",
        embedding_dim=4,
        classifier="circle_softmax",
    )
    pids = torch.arange(8) % 5
    output = head(feature_map(), pids)
    torch.nn.functional.cross_entropy(output.logits["global"], pids).backward()
    learning = {n for n, p in head.named_parameters() if p.grad is not None and p.grad.any()}
    assert learning == {
        "pooling.p",
        "neck.reduction.weight",
        "neck.bottleneck.weight",
        "classifier.weight",
    }


def test_weights_of_a_trained_head_fit_one_without_classes() -> None:
    trained = used_head("reduction_bnneck", 4)
    embedder = EmbeddingHead(
        feature_dim=6, num_classes=None, neck="reduction_bnneck", embedding_dim=4
    )
    keys = embedder.load_state_dict(trained.state_dict(), strict=False)
    assert keys.unexpected_keys == ["classifier.weight"]
    assert not keys.missing_keys
    output = embedder.eval()(feature_map())
    assert torch.equal(output.embedding, trained(feature_map()).embedding)
    assert not output.logits


@pytest.mark.parametrize("pooling", ["token_mean", "class_token", "attention"])
def test_tokens_are_read_with_their_prefix(pooling: PoolingName) -> None:
    tokens = torch.randn(8, 5, 6, generator=torch.Generator().manual_seed(0))
    head = EmbeddingHead(feature_dim=6, num_classes=5, num_prefix_tokens=1, pooling=pooling)
    expected = tokens[:, 0] if pooling == "class_token" else tokens[:, 1:].mean(dim=1)
    torch.testing.assert_close(head(tokens).features["global"].detach(), expected)


def test_evaluation_gives_no_logits() -> None:
    assert not used_head()(feature_map()).logits


def test_outputs_stay_float32_under_autocast() -> None:
    head = EmbeddingHead(
        feature_dim=6,
        num_classes=5,
        neck="reduction_bnneck",
        embedding_dim=4,
        classifier="arcface",
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = head(feature_map().bfloat16(), torch.arange(8) % 5)
    tensors = [output.embedding, output.features["global"], output.logits["global"]]
    assert {tensor.dtype for tensor in tensors} == {torch.float32}
