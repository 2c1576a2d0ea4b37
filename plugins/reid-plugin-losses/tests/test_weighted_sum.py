"""The losses of a model together, as a run adds them up."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.models.weighted_losses import WeightedLoss, WeightedLosses
from reid_core.plugins.registries import LOSSES


def test_the_sum_is_that_of_every_loss_with_its_weight(  # B083
    make_batch: Callable[[Tensor], Batch],
) -> None:
    weights = {"cross_entropy": 1.0, "triplet": 0.5, "center": 0.0005}
    torch.manual_seed(0)
    built = {
        name: LOSSES.build({"name": name}, num_classes=4, feature_dim=6, weight=weight)
        for name, weight in weights.items()
    }
    features, logits = (torch.randn(8, width, requires_grad=True) for width in (6, 4))
    output = HeadOutput(features, {"global": features}, {"global": logits})
    batch = make_batch(torch.arange(8) // 2)
    entries = [WeightedLoss(name, built[name], weight) for name, weight in weights.items()]
    found = WeightedLosses(entries).weighted(output, batch)
    assert list(found.losses) == list(weights)
    expected = sum(weights[name] * loss(output, batch).item() for name, loss in built.items())
    total = torch.stack(list(found.losses.values())).sum()
    assert total.item() == pytest.approx(expected, rel=1e-6)
    total.backward()
    assert features.grad.abs().sum() > 0
    # The centre of the first identity is moved by the whole gradient of its two rows.
    pull = (built["center"].centers[0] - features[:2]).sum(dim=0)
    torch.testing.assert_close(built["center"].centers.grad[0], 2 / 8 * pull.detach())
