"""What the tests of the classifiers share."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_plugin_heads.classifiers import Classifier


@pytest.fixture
def gradients_match() -> Callable[[Classifier, Callable[[Tensor, bool], Tensor]], None]:
    """Compare logits and gradients with loops over images and classes, in double precision."""

    def check(classifier: Classifier, one_logit: Callable[[Tensor, bool], Tensor]) -> None:
        generator = torch.Generator().manual_seed(3)
        feature = torch.randn(7, classifier.weight.shape[1], generator=generator)
        factors = torch.randn(7, classifier.num_classes, generator=generator)
        pids = torch.arange(7) % classifier.num_classes
        feature.requires_grad_()
        logits, _ = classifier(feature, pids)
        (logits * factors).sum().backward()

        exact = feature.detach().double().requires_grad_()
        weight = classifier.weight.detach().double().requires_grad_()
        centers = len(weight) // classifier.num_classes
        rows = []
        for image in range(7):
            row = []
            for label in range(classifier.num_classes):
                best = torch.tensor(-2.0, dtype=torch.float64)
                for center in range(label * centers, (label + 1) * centers):
                    product = (exact[image] * weight[center]).sum()
                    cosine = product / exact[image].norm() / weight[center].norm()
                    best = cosine if cosine > best else best
                row.append(one_logit(best, bool(pids[image] == label)))
            rows.append(torch.stack(row))
        expected = torch.stack(rows)
        (expected * factors).sum().backward()

        torch.testing.assert_close(logits, expected.float(), rtol=1e-4, atol=1e-4)
        for got, right in ((feature.grad, exact.grad), (classifier.weight.grad, weight.grad)):
            assert got is not None
            assert right is not None
            torch.testing.assert_close(got.double(), right, rtol=1e-4, atol=1e-3)

    return check
