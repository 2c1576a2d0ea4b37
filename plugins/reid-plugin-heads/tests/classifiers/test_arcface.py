import math
from collections.abc import Callable, Mapping
from typing import cast

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.classifiers import Classifier
from reid_plugin_heads.classifiers.arcface import ArcFaceClassifier, PastPi, widened_cosine

Check = Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]


@pytest.mark.parametrize("past_pi", ["linear", "plain"])
def test_logits_equal_the_reference_values(golden: Mapping[str, Tensor], past_pi: PastPi) -> None:
    """No label of the reference is past π, so both rules give its values."""
    classifier = ArcFaceClassifier(
        embedding_dim=16, num_classes=10, scale=30.0, margin=0.5, past_pi=past_pi
    )
    with torch.no_grad():
        classifier.weight.copy_(golden["class_weight"])
    logits, _ = classifier(golden["features"], golden["labels"])
    expected = golden["margin_softmax/ArcSoftmax/scale=30.0/margin=0.5"]
    torch.testing.assert_close(logits.detach(), expected, rtol=1e-4, atol=1e-5)


def test_past_pi_the_label_falls_on() -> None:
    """Case B080."""
    cosine = torch.tensor([-0.95, -0.8])
    assert math.cos(math.pi - 0.5) == pytest.approx(-0.877583, abs=1e-6)
    linear = widened_cosine(cosine, 0.5, "linear")
    assert linear.tolist() == pytest.approx([-1.189713, -0.989721], abs=1e-6)
    plain = widened_cosine(cosine, 0.5, "plain")
    assert plain.tolist() == pytest.approx([-0.983404, -0.989721], abs=1e-6)


@pytest.mark.parametrize("margin", [0.0, 0.3, 0.5, 1.2, math.pi])
def test_the_formula_is_that_of_the_angle_on_a_whole_grid(margin: float) -> None:
    grid = torch.linspace(-1, 1, 401, dtype=torch.float64)
    linear = widened_cosine(grid, margin, "linear")
    plain = widened_cosine(grid, margin, "plain")
    for place, cosine in enumerate(grid.tolist()):
        angle = math.acos(cosine) + margin
        expected = math.cos(angle)
        assert plain[place].item() == pytest.approx(expected, abs=2e-6)
        if abs(angle - math.pi) < 1e-9:
            continue  # at π itself, either rule is right up to rounding
        if angle > math.pi:
            expected = cosine - margin * math.sin(math.pi - margin)
        assert linear[place].item() == pytest.approx(expected, abs=2e-6)


def test_with_the_linear_rule_a_worse_angle_never_scores_higher_past_pi() -> None:
    grid = torch.linspace(-1, math.cos(math.pi - 0.5), 100)
    assert (widened_cosine(grid, 0.5, "linear").diff() > 0).all()
    assert (widened_cosine(grid, 0.5, "plain").diff() < 0).all()


@pytest.mark.parametrize("past_pi", ["linear", "plain"])
def test_values_and_gradients_are_finite_up_to_parallel_and_a_rounding_beyond(
    past_pi: PastPi,
) -> None:
    cosine = torch.tensor([-1.0000001, -1.0, 1.0, 1.0000001, 0.99999994], requires_grad=True)
    widened = widened_cosine(cosine, 0.5, past_pi)
    widened.sum().backward()
    assert widened[2].item() == pytest.approx(math.cos(0.5), abs=1e-5)
    assert cosine.grad is not None
    assert torch.isfinite(cosine.grad).all()
    assert torch.isfinite(widened).all()


@pytest.mark.parametrize("past_pi", ["linear", "plain"])
def test_logits_and_gradients_equal_plain_loops(gradients_match: Check, past_pi: PastPi) -> None:
    torch.manual_seed(0)
    margin = 2.0  # wide, so that some labels are past π and some are not
    classifier = ArcFaceClassifier(
        embedding_dim=6, num_classes=5, scale=8.0, margin=margin, past_pi=past_pi
    )
    past = []

    def logit(cosine: Tensor, is_label: bool) -> Tensor:
        if not is_label:
            return 8.0 * cosine
        angle = torch.acos(cosine) + margin
        past.append(bool(angle > math.pi))
        if past_pi == "linear" and past[-1]:
            return 8.0 * (cosine - math.sin(math.pi - margin) * margin)
        return 8.0 * torch.cos(angle)

    gradients_match(classifier, logit)
    assert set(past) == {True, False}


def test_a_misspelt_rule_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"past_pi: got 'linaer'.*did you mean linear\?"):
        ArcFaceClassifier(embedding_dim=6, num_classes=5, past_pi=cast("PastPi", "linaer"))
