import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.attribute import AttributeHead
from reid_plugin_heads.classifiers.subcenter_arcface import SubCenterArcFaceClassifier
from reid_plugin_heads.embedding import EmbeddingHead


def feature_map(seed: int = 0) -> Tensor:
    return torch.randn(8, 6, 4, 2, generator=torch.Generator().manual_seed(seed))


def head_of(num_classes: int | None = 5) -> AttributeHead:
    torch.manual_seed(0)
    return AttributeHead(
        feature_dim=6,
        num_classes=num_classes,
        num_attributes=3,
        neck="reduction_bnneck",
        embedding_dim=4,
        classifier="cosface",
    )


def test_the_identity_part_is_the_embedding_head() -> None:
    head = head_of()
    plain = EmbeddingHead(
        feature_dim=6,
        num_classes=5,
        neck="reduction_bnneck",
        embedding_dim=4,
        classifier="cosface",
    )
    missing = plain.load_state_dict(head.state_dict(), strict=False)
    assert not missing.missing_keys
    pids = torch.arange(8) % 5
    output, expected = head(feature_map(), pids), plain(feature_map(), pids)
    assert torch.equal(output.embedding, expected.embedding)
    assert torch.equal(output.features["global"], expected.features["global"])
    assert torch.equal(output.logits["global"], expected.logits["global"])
    assert output.scores is not None
    assert torch.equal(output.scores["global"], expected.scores["global"])
    assert expected.attributes is None


def test_attributes_in_training_are_batch_normalised_scalar_products() -> None:
    head = head_of()
    with torch.no_grad():
        head.attributes.norm.weight.uniform_(0.5, 2.0)
        head.attributes.norm.bias.uniform_(-1.0, 1.0)
    attributes = head(feature_map(), torch.arange(8) % 5).attributes
    after = head.stages(feature_map()).after.detach()
    weight = head.attributes.linear.weight.detach()
    for column in range(3):
        raw = [
            sum(float(after[row, axis]) * float(weight[column, axis]) for axis in range(4))
            for row in range(8)
        ]
        mean = sum(raw) / 8
        variance = sum((value - mean) ** 2 for value in raw) / 8
        scale = head.attributes.norm.weight[column].item()
        bias = head.attributes.norm.bias[column].item()
        expected = [scale * (value - mean) / (variance + 1e-5) ** 0.5 + bias for value in raw]
        assert attributes[:, column].tolist() == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_attributes_are_there_in_evaluation_and_without_classes() -> None:
    trained = head_of()
    trained(feature_map(), torch.arange(8) % 5)
    embedder = head_of(num_classes=None)
    keys = embedder.load_state_dict(trained.state_dict(), strict=False)
    assert keys.unexpected_keys == ["classifier.weight"]
    assert not keys.missing_keys
    attributes = embedder.eval()(feature_map()).attributes
    assert attributes.shape == (8, 3)
    assert torch.equal(attributes, trained.eval()(feature_map()).attributes)


def test_attributes_train_the_neck_and_themselves() -> None:
    head = head_of()
    pids = torch.arange(8) % 5
    head(feature_map(), pids).attributes.square().mul(torch.arange(3) + 1.0).mean(1)[
        :4
    ].sum().backward()
    learning = {n for n, p in head.named_parameters() if p.grad is not None and p.grad.any()}
    assert learning == {
        "neck.reduction.weight",
        "neck.bottleneck.weight",
        "attributes.linear.weight",
        "attributes.norm.weight",
        "attributes.norm.bias",
    }


def test_attributes_are_float32_under_autocast() -> None:
    head = head_of().eval()
    expected = head(feature_map()).attributes
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attributes = head(feature_map()).attributes
    assert attributes.dtype == torch.float32
    torch.testing.assert_close(attributes, expected, rtol=0.02, atol=0.02)


def test_every_parameter_reaches_the_identity_part() -> None:
    head = AttributeHead(
        feature_dim=6,
        num_classes=5,
        num_attributes=3,
        num_prefix_tokens=1,
        pooling="gem_learned",
        gem_exponent=2.0,
        neck="reduction_bnneck",
        embedding_dim=4,
        metric_feature="pooled",
        test_feature="before",
        classifier="subcenter_arcface",
        scale=20.0,
        margin=0.1,
        centers=4,
        past_pi="plain",
    )
    tokens = torch.rand(8, 5, 6) + 0.1
    output, stages = head(tokens, torch.arange(8) % 5), head.stages(tokens)
    torch.testing.assert_close(stages.pooled, tokens[:, 1:].square().mean(dim=1).sqrt())
    assert torch.equal(output.features["global"], stages.pooled)
    assert torch.equal(output.embedding, stages.before)
    assert head.embedding_dim == 4
    classifier = head.classifier
    assert isinstance(classifier, SubCenterArcFaceClassifier)
    assert (classifier.scale, classifier.margin) == (20.0, 0.1)
    assert (classifier.centers, classifier.past_pi) == (4, "plain")


def test_no_attribute_is_an_error() -> None:
    with pytest.raises(ConfigError, match="num_attributes: got 0"):
        AttributeHead(feature_dim=6, num_classes=5, num_attributes=0)
