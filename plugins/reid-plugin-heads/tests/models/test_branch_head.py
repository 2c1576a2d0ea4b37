from typing import cast

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.classifiers.build import ClassifierName
from reid_plugin_heads.models.branch_head import (
    BranchHead,
    BranchOutput,
    BranchSettings,
    NeckSide,
    head_output,
)
from reid_plugin_heads.necks.build import build_neck


def settings(
    num_classes: int | None = 5,
    metric_feature: NeckSide = "before",
    test_feature: NeckSide = "after",
    classifier: ClassifierName = "linear",
) -> BranchSettings:
    return BranchSettings(
        num_classes=num_classes,
        metric_feature=metric_feature,
        test_feature=test_feature,
        classifier=classifier,
    )


def head(**keywords: object) -> BranchHead:
    torch.manual_seed(0)
    made = settings(**keywords)  # type: ignore[arg-type]
    return BranchHead(build_neck("bnneck", feature_dim=6), made)


@pytest.mark.parametrize("metric_feature", ["before", "after"])
@pytest.mark.parametrize("test_feature", ["before", "after"])
def test_each_side_of_the_neck_can_be_chosen(metric_feature: str, test_feature: str) -> None:
    branch = head(metric_feature=metric_feature, test_feature=test_feature)
    pooled = torch.randn(8, 6)
    centred = (pooled - pooled.mean(0)) / (pooled.var(0, unbiased=False) + 1e-5).sqrt()
    sides = {"before": pooled, "after": centred}
    output = branch(pooled)
    torch.testing.assert_close(output.metric_feature, sides[metric_feature])
    torch.testing.assert_close(output.test_feature, sides[test_feature])
    torch.testing.assert_close(output.logits, centred @ branch.classifier.weight.T)


def test_there_are_no_logits_in_evaluation_or_without_classes() -> None:
    assert head().eval()(torch.randn(8, 6)).logits is None
    lean = head(num_classes=None)
    assert lean.classifier is None
    assert lean(torch.randn(8, 6)).logits is None


def test_a_margin_is_in_the_logits_and_not_in_the_scores() -> None:
    branch = head(classifier="cosface")
    pids = torch.arange(8) % 5
    output = branch(torch.randn(8, 6), pids)
    both = head_output({"a": output}, features={}, embedding=torch.zeros(8, 1))
    assert both.scores is not None
    difference = both.scores["a"] - both.logits["a"]
    is_label = torch.nn.functional.one_hot(pids, 5).bool()
    assert (difference[is_label] > 1).all()
    assert not difference[~is_label].any()


def test_without_a_margin_the_logits_serve_for_accuracy() -> None:
    output = head()(torch.randn(8, 6), torch.arange(8) % 5)
    assert head_output({"a": output}, features={}, embedding=torch.zeros(8, 1)).scores is None


def test_the_output_has_the_logits_of_all_branches() -> None:
    feature, logits = torch.zeros(2, 3), torch.ones(2, 5)
    outputs = {
        "a": BranchOutput(feature, feature, logits, logits),
        "b": BranchOutput(feature, feature),
    }
    whole = head_output(outputs, features={"f": feature}, embedding=feature)
    assert list(whole.logits) == ["a"]
    assert list(whole.features) == ["f"]


def test_a_misspelt_side_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"test_feature: got 'befor'.*did you mean before\?"):
        settings(test_feature=cast("NeckSide", "befor"))
