from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.multi_similarity import MultiSimilarityLoss


def plain_loops(
    alpha: float, beta: float, base: float, epsilon: float
) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        units = [row / row.norm() for row in features]
        total = (features * 0).sum()
        for i, pid in enumerate(pids):
            cosines = [(units[i] * other).sum() for other in units]
            positives = [s for j, s in enumerate(cosines) if pids[j] == pid and j != i]
            negatives = [s for j, s in enumerate(cosines) if pids[j] != pid]
            if not positives or not negatives:
                continue
            hard_negatives = [s for s in negatives if s + epsilon > min(positives)]
            hard_positives = [s for s in positives if s - epsilon < max(negatives)]
            if not hard_negatives or not hard_positives:
                continue
            pull = sum((-alpha * (s - base)).exp() for s in hard_positives)
            push = sum((beta * (s - base)).exp() for s in hard_negatives)
            total = total + (1 + pull).log() / alpha + (1 + push).log() / beta
        return total / len(pids)

    return reference


@pytest.mark.parametrize(
    ("alpha", "beta", "base", "epsilon"),
    [(2.0, 40.0, 0.5, 0.1), (2.0, 40.0, 0.5, 0.7), (5.0, 10.0, 0.2, 0.0)],
)
def test_random_batches_cost_what_plain_loops_say(
    agrees_with_loops, alpha: float, beta: float, base: float, epsilon: float
) -> None:
    loss = MultiSimilarityLoss(alpha=alpha, beta=beta, base=base, epsilon=epsilon)
    agrees_with_loops(loss, plain_loops(alpha, beta, base, epsilon))


def test_pairs_that_are_far_enough_apart_cost_nothing(
    make_batch: Callable[[Tensor], Batch],
) -> None:
    features = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]], requires_grad=True)
    loss = MultiSimilarityLoss(epsilon=0.1)
    value = loss(HeadOutput(features, {"global": features}), make_batch(torch.tensor([0, 0, 1, 1])))
    value.backward()
    assert value.item() == 0
    assert torch.equal(features.grad, torch.zeros(4, 2))
    assert loss.metrics()["active_fraction"].item() == 0
    assert loss.metrics()["valid_anchors"].item() == 4


def test_parameters_out_of_range_are_errors() -> None:
    for name in ("alpha", "beta"):
        with pytest.raises(ConfigError, match=f"multi_similarity: {name}: got 0, expected above 0"):
            MultiSimilarityLoss(**{name: 0})
    with pytest.raises(ConfigError, match="multi_similarity: epsilon: got -1, expected at least 0"):
        MultiSimilarityLoss(epsilon=-1)
    with pytest.raises(ConfigError, match="multi_similarity: base: got inf, expected a finite"):
        MultiSimilarityLoss(base=float("inf"))
