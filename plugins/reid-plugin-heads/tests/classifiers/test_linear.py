import pytest
import torch

from reid_plugin_heads.classifiers.linear import LinearClassifier


def test_scores_are_scaled_scalar_products_without_bias() -> None:
    classifier = LinearClassifier(embedding_dim=3, num_classes=4, scale=2.0)
    feature = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    logits, scores = classifier(feature, torch.tensor([0, 1, 2, 3, 0]))
    assert logits is scores
    weight = classifier.weight.detach()
    for image in range(5):
        for label in range(4):
            product = sum(
                float(feature[image, axis]) * float(weight[label, axis]) for axis in range(3)
            )
            assert logits[image, label].item() == pytest.approx(2 * product, rel=1e-4, abs=1e-7)
    assert set(classifier.state_dict()) == {"weight"}
