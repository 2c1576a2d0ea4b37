from typing import cast, get_args

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.classifiers.build import ClassifierName, build_classifier


@pytest.mark.parametrize("name", get_args(ClassifierName))
def test_every_name_scores_every_class(name: ClassifierName) -> None:
    classifier = build_classifier(name, embedding_dim=6, num_classes=5)
    logits, scores = classifier(torch.randn(2, 6), torch.tensor([0, 4]))
    assert logits.shape == scores.shape == (2, 5)
    assert classifier.has_margin == (logits is not scores)


def test_parameters_reach_the_classifier() -> None:
    classifier = build_classifier(
        "subcenter_arcface",
        embedding_dim=6,
        num_classes=5,
        scale=20.0,
        margin=0.1,
        centers=4,
        past_pi="plain",
    )
    assert classifier.weight.shape == (20, 6)
    assert (classifier.scale, classifier.margin, classifier.past_pi) == (20.0, 0.1, "plain")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"classifier: got 'arkface'.*did you mean arcface\?"):
        build_classifier(cast("ClassifierName", "arkface"), embedding_dim=6, num_classes=5)


def test_a_parameter_that_a_classifier_does_not_have_is_an_error() -> None:
    with pytest.raises(ConfigError) as caught:
        build_classifier("linear", embedding_dim=6, num_classes=5, margin=0.3)
    assert str(caught.value) == (
        "margin: got 0.3, but classifier linear has no margin; remove it, or choose a classifier "
        "that has one: cosface, arcface, circle_softmax, subcenter_arcface"
    )
    with pytest.raises(ConfigError, match="centers: got 3, but classifier arcface has no centers"):
        build_classifier("arcface", embedding_dim=6, num_classes=5, centers=3)
    with pytest.raises(ConfigError, match=r"cosface has no past_pi.*: arcface, subcenter_arcface"):
        build_classifier("cosface", embedding_dim=6, num_classes=5, past_pi="plain")
