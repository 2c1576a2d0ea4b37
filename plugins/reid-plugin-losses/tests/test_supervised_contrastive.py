from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_losses.supervised_contrastive import SupervisedContrastiveLoss


def plain_loops(temperature: float) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        units = [row / row.norm() for row in features]
        costs = []
        for i, pid in enumerate(pids):
            others = [j for j in range(len(pids)) if j != i]
            positives = [j for j in others if pids[j] == pid]
            if positives and len(positives) < len(others):
                powers = {j: ((units[i] * units[j]).sum() / temperature).exp() for j in others}
                total = sum(powers.values())
                logs = [(powers[j] / total).log() for j in positives]
                costs.append(-sum(logs) / len(positives))
        return torch.stack(costs).mean()

    return reference


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_random_batches_cost_what_plain_loops_say(agrees_with_loops, temperature: float) -> None:
    loss = SupervisedContrastiveLoss(temperature=temperature)
    agrees_with_loops(loss, plain_loops(temperature))


def test_a_temperature_of_0_is_an_error() -> None:
    with pytest.raises(ConfigError, match="temperature: got 0, expected above 0, for example"):
        SupervisedContrastiveLoss(temperature=0)
