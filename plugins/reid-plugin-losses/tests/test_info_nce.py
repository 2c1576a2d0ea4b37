from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_losses.info_nce import InfoNCELoss


def plain_loops(temperature: float) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        units = [row / row.norm() for row in features]
        costs = []
        for i, pid in enumerate(pids):
            powers = [((units[i] * other).sum() / temperature).exp() for other in units]
            negatives = [powers[j] for j in range(len(pids)) if pids[j] != pid]
            positives = [powers[j] for j in range(len(pids)) if pids[j] == pid and j != i]
            if negatives:
                costs += [-(p / (p + sum(negatives))).log() for p in positives]
        return torch.stack(costs).mean()

    return reference


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_random_batches_cost_what_plain_loops_say(agrees_with_loops, temperature: float) -> None:
    agrees_with_loops(InfoNCELoss(temperature=temperature), plain_loops(temperature))


def test_a_temperature_of_0_is_an_error() -> None:
    with pytest.raises(ConfigError, match="info_nce: temperature: got 0, expected above 0"):
        InfoNCELoss(temperature=0)
