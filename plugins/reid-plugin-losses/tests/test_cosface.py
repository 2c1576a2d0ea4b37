from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_losses.cosface import CosFaceLoss


def plain_loops(margin: float, gamma: float) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        units = [row / row.norm() for row in features]
        costs = []
        for i, unit in enumerate(units):
            positive, negative = features.new_zeros(()), features.new_zeros(())
            for j, other in enumerate(units):
                s = (unit * other).sum()
                if pids[i] != pids[j]:
                    negative = negative + (gamma * (s + margin)).exp()
                elif i != j:
                    positive = positive + (-gamma * s).exp()
            costs.append((1 + positive * negative).log())
        return torch.stack(costs).mean()

    return reference


@pytest.mark.parametrize("gamma", [64, 128])
def test_reference_values_and_gradients_are_reproduced(reproduces, gamma: float) -> None:
    loss = CosFaceLoss(margin=0.25, gamma=gamma)
    reproduces(loss, f"cosface_pairwise/margin=0.25/gamma={gamma}")


@pytest.mark.parametrize(("margin", "gamma"), [(0.25, 4.0), (0.0, 16.0)])
def test_random_batches_cost_what_plain_loops_say(agrees_with_loops, margin, gamma) -> None:
    agrees_with_loops(CosFaceLoss(margin=margin, gamma=gamma), plain_loops(margin, gamma))


def test_parameters_out_of_range_are_errors() -> None:
    with pytest.raises(ConfigError, match=r"cosface: margin: got -0\.1, expected at least 0"):
        CosFaceLoss(margin=-0.1)
    with pytest.raises(ConfigError, match="cosface: gamma: got 0, expected above 0"):
        CosFaceLoss(gamma=0)
