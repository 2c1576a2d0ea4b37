from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from reid_plugin_heads.classifiers import Classifier
from reid_plugin_heads.classifiers.circle_softmax import CircleSoftmaxClassifier

Check = Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]


def test_logits_equal_the_reference_values(golden: Mapping[str, Tensor]) -> None:
    classifier = CircleSoftmaxClassifier(embedding_dim=16, num_classes=10, scale=64.0, margin=0.25)
    with torch.no_grad():
        classifier.weight.copy_(golden["class_weight"])
    logits, _ = classifier(golden["features"], golden["labels"])
    expected = golden["margin_softmax/CircleSoftmax/scale=64.0/margin=0.25"]
    torch.testing.assert_close(logits.detach(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("margin", [0.0, 0.25, 0.6])
def test_logits_and_gradients_equal_plain_loops(gradients_match: Check, margin: float) -> None:
    torch.manual_seed(0)
    classifier = CircleSoftmaxClassifier(embedding_dim=6, num_classes=5, scale=9.0, margin=margin)

    def logit(cosine: Tensor, is_label: bool) -> Tensor:
        fixed = cosine.item()
        if is_label:
            return 9.0 * max(1 + margin - fixed, 0.0) * (cosine - (1 - margin))
        return 9.0 * max(fixed + margin, 0.0) * (cosine - margin)

    gradients_match(classifier, logit)
