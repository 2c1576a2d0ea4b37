import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.classifiers import Classifier, build_classifier
from reid_plugin_heads.classifiers.base import cosines, unit_length
from reid_plugin_heads.classifiers.build import ClassifierName

WITH_MARGIN: list[ClassifierName] = ["cosface", "arcface", "circle_softmax", "subcenter_arcface"]
ALL: list[ClassifierName] = ["linear", "cosine", *WITH_MARGIN]


def classifier_of(name: ClassifierName) -> Classifier:
    torch.manual_seed(0)
    return build_classifier(name, embedding_dim=6, num_classes=5)


def feature() -> torch.Tensor:
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ALL)
def test_without_labels_logits_are_the_plain_scores(name: ClassifierName) -> None:
    logits, scores = classifier_of(name)(feature())
    assert logits is scores
    assert logits.shape == (4, 5)


@pytest.mark.parametrize("name", WITH_MARGIN)
def test_labels_change_the_logits_and_not_the_scores(name: ClassifierName) -> None:
    classifier = classifier_of(name)
    logits, scores = classifier(feature(), torch.tensor([0, 1, 2, 3]))
    torch.testing.assert_close(scores, classifier(feature())[1])
    own = torch.arange(4)
    assert (logits[own, own] < scores[own, own]).all()


@pytest.mark.parametrize("name", ["cosface", "arcface", "subcenter_arcface"])
def test_the_other_classes_keep_their_scores(name: ClassifierName) -> None:
    logits, scores = classifier_of(name)(feature(), torch.tensor([0, 1, 2, 3]))
    others = ~torch.eye(4, 5, dtype=torch.bool)
    torch.testing.assert_close(logits[others], scores[others])


@pytest.mark.parametrize("name", ["cosface", "arcface", "subcenter_arcface"])
def test_a_label_outside_of_the_classes_gets_no_margin(name: ClassifierName) -> None:
    logits, scores = classifier_of(name)(feature(), torch.tensor([-1, 5, -1, 9]))
    torch.testing.assert_close(logits, scores)


@pytest.mark.parametrize("name", ALL)
def test_logits_are_float32_under_autocast_and_for_half_precision_features(
    name: ClassifierName,
) -> None:
    classifier = classifier_of(name)
    pids = torch.tensor([0, 1, 2, 3])
    expected, _ = classifier(feature(), pids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, scores = classifier(feature(), pids)
        from_half, _ = classifier(feature().half(), pids)
    assert logits.dtype == scores.dtype == from_half.dtype == torch.float32
    assert torch.equal(logits, expected)
    torch.testing.assert_close(from_half, expected, rtol=1e-2, atol=1e-1)


@pytest.mark.parametrize("name", ALL)
def test_a_classifier_cast_to_half_precision_still_computes_in_float32(
    name: ClassifierName,
) -> None:
    logits, _ = classifier_of(name).bfloat16()(feature().bfloat16(), torch.tensor([0, 1, 2, 3]))
    assert logits.dtype == torch.float32


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_finite_where_embedding_and_weight_are_parallel(name: ClassifierName) -> None:
    classifier = classifier_of(name)
    with torch.no_grad():
        classifier.weight.copy_(torch.eye(len(classifier.weight), 6) * 3)
        classifier.weight[-1] = -classifier.weight[0]
    rows = torch.stack([classifier.weight[0], -classifier.weight[0]]).detach().requires_grad_()
    for pids in (torch.tensor([0, 0]), torch.tensor([1, 1])):
        logits, _ = classifier(rows, pids)
        logits.square().sum().backward()
        assert torch.isfinite(logits).all()
        assert rows.grad is not None
        assert classifier.weight.grad is not None
        assert torch.isfinite(rows.grad).all()
        assert torch.isfinite(classifier.weight.grad).all()


def test_rows_of_zeros_have_cosine_and_gradient_zero() -> None:
    rows = torch.zeros(2, 3, requires_grad=True)
    values = cosines(rows, torch.ones(4, 3))
    values.sum().backward()
    assert not values.any()
    assert rows.grad is not None
    assert not rows.grad.any()


@pytest.mark.parametrize("length", [1e-15, 1e-4, 1e4, 1e15])
def test_unit_length_does_not_depend_on_the_scale(length: float) -> None:
    rows = torch.tensor([[3.0, 4.0]]) * length
    torch.testing.assert_close(unit_length(rows), torch.tensor([[0.6, 0.8]]))


def test_weights_start_at_the_published_spread() -> None:
    torch.manual_seed(0)
    weight = build_classifier("cosface", embedding_dim=512, num_classes=200).weight
    assert weight.std().item() == pytest.approx(0.01, rel=0.02)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_not_above_zero_is_an_error(scale: float) -> None:
    with pytest.raises(ConfigError, match=f"scale: got {scale}, expected a number above 0"):
        build_classifier("cosine", embedding_dim=6, num_classes=5, scale=scale)


@pytest.mark.parametrize(
    ("name", "margin", "high"),
    [
        ("cosface", 2.1, "2"),
        ("cosface", -0.1, "2"),
        ("arcface", 3.2, "3.14159"),
        ("subcenter_arcface", -0.5, "3.14159"),
        ("circle_softmax", 1.5, "1"),
    ],
)
def test_a_margin_out_of_its_range_is_an_error(
    name: ClassifierName, margin: float, high: str
) -> None:
    with pytest.raises(ConfigError, match=f"margin: got {margin}, expected 0 to {high}"):
        build_classifier(name, embedding_dim=6, num_classes=5, margin=margin)
