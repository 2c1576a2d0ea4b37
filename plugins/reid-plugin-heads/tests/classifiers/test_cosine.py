from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from reid_plugin_heads.classifiers import Classifier
from reid_plugin_heads.classifiers.cosine import CosineClassifier

Check = Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]


def test_cosines_equal_the_reference_values(golden: Mapping[str, Tensor]) -> None:
    classifier = CosineClassifier(embedding_dim=16, num_classes=10, scale=1.0)
    with torch.no_grad():
        classifier.weight.copy_(golden["class_weight"])
    logits, _ = classifier(golden["features"], golden["labels"])
    torch.testing.assert_close(logits.detach(), golden["cosine"], rtol=1e-4, atol=1e-6)


def test_logits_and_gradients_equal_plain_loops(gradients_match: Check) -> None:
    torch.manual_seed(0)
    classifier = CosineClassifier(embedding_dim=6, num_classes=5, scale=12.0)
    gradients_match(classifier, lambda cosine, is_label: 12.0 * cosine)
