import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.classifiers import Classifier
from reid_plugin_heads.classifiers.arcface import ArcFaceClassifier
from reid_plugin_heads.classifiers.subcenter_arcface import SubCenterArcFaceClassifier

Check = Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]


@pytest.mark.parametrize("centers", [1, 2, 3])
def test_logits_and_gradients_equal_plain_loops(gradients_match: Check, centers: int) -> None:
    torch.manual_seed(0)
    classifier = SubCenterArcFaceClassifier(
        embedding_dim=6, num_classes=5, scale=8.0, margin=0.3, centers=centers
    )

    def logit(cosine: Tensor, is_label: bool) -> Tensor:
        angle = torch.acos(cosine)
        if not is_label:
            return 8.0 * cosine
        if angle + 0.3 > math.pi:
            return 8.0 * (cosine - math.sin(math.pi - 0.3) * 0.3)
        return 8.0 * torch.cos(angle + 0.3)

    gradients_match(classifier, logit)


def test_one_center_is_arcface() -> None:
    torch.manual_seed(0)
    one = SubCenterArcFaceClassifier(embedding_dim=6, num_classes=5, centers=1)
    arcface = ArcFaceClassifier(embedding_dim=6, num_classes=5)
    arcface.load_state_dict(one.state_dict())
    feature, pids = torch.randn(4, 6), torch.tensor([0, 1, 2, 3])
    torch.testing.assert_close(one(feature, pids)[0], arcface(feature, pids)[0])


def test_only_the_nearest_center_of_a_class_learns() -> None:
    classifier = SubCenterArcFaceClassifier(embedding_dim=2, num_classes=2, centers=2)
    with torch.no_grad():
        classifier.weight.copy_(torch.tensor([[1.0, 0.1], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
    logits, _ = classifier(torch.tensor([[1.0, 0.0]]), torch.tensor([0]))
    logits[0, 0].backward()
    assert classifier.weight.grad is not None
    assert classifier.weight.grad.any(dim=1).tolist() == [True, False, False, False]


def test_no_center_is_an_error() -> None:
    with pytest.raises(ConfigError, match="centers: got 0"):
        SubCenterArcFaceClassifier(embedding_dim=6, num_classes=5, centers=0)
