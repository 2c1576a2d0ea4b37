from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from reid_plugin_heads.classifiers import Classifier
from reid_plugin_heads.classifiers.cosface import CosFaceClassifier

Check = Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]


def test_logits_equal_the_reference_values(golden: Mapping[str, Tensor]) -> None:
    classifier = CosFaceClassifier(embedding_dim=16, num_classes=10, scale=30.0, margin=0.35)
    with torch.no_grad():
        classifier.weight.copy_(golden["class_weight"])
    logits, scores = classifier(golden["features"], golden["labels"])
    expected = golden["margin_softmax/CosSoftmax/scale=30.0/margin=0.35"]
    torch.testing.assert_close(logits.detach(), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(scores.detach(), golden["cosine"] * 30, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.2, 1.5])
def test_logits_and_gradients_equal_plain_loops(gradients_match: Check, margin: float) -> None:
    torch.manual_seed(0)
    classifier = CosFaceClassifier(embedding_dim=6, num_classes=5, scale=7.0, margin=margin)
    gradients_match(
        classifier, lambda cosine, is_label: 7.0 * (cosine - margin if is_label else cosine)
    )
