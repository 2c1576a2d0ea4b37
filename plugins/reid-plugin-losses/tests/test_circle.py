import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.circle import CircleLoss, circle_excess
from reid_plugin_losses.pairs import Pairs


def plain_loops(margin: float, gamma: float) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        units = [row / row.norm() for row in features]
        costs = []
        for i, unit in enumerate(units):
            positive, negative = features.new_zeros(()), features.new_zeros(())
            for j, other in enumerate(units):
                s = (unit * other).sum()
                if pids[i] != pids[j]:
                    weight = max(0.0, s.item() + margin)
                    negative = negative + (gamma * weight * (s - margin)).exp()
                elif i != j:
                    weight = max(0.0, 1 + margin - s.item())
                    positive = positive + (-gamma * weight * (s - 1 + margin)).exp()
            costs.append((1 + positive * negative).log())
        return torch.stack(costs).mean()

    return reference


def cost(positive: list[float], negative: list[float], gamma: float, margin: float = 0.25) -> float:
    cosines = torch.tensor([[*positive, *negative]])
    is_positive = torch.tensor([[True] * len(positive) + [False] * len(negative)])
    excess = circle_excess(cosines, Pairs(is_positive, ~is_positive), margin, gamma)
    return torch.nn.functional.softplus(excess).item()


@pytest.mark.parametrize(
    ("positive", "negative", "gamma", "expected"),
    [
        ([0.8], [0.4], 64, 4.808196),
        ([0.8], [0.4], 128, 9.600068),
        ([-1.0], [1.0], 128, 624.0),  # exp(624) is infinite in float32
        ([0.7], [0.3, 0.5], 64, 13.760037),
        ([0.9], [0.1], 64, 0.001206),
    ],
)
def test_one_row_costs_the_published_values(positive, negative, gamma, expected) -> None:  # B078
    assert cost(positive, negative, gamma) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_the_extreme_row_has_a_finite_gradient() -> None:  # B078
    cosines = torch.tensor([[-1.0, 1.0]], requires_grad=True)
    pairs = Pairs(torch.tensor([[True, False]]), torch.tensor([[False, True]]))
    torch.nn.functional.softplus(circle_excess(cosines, pairs, 0.25, 128)).sum().backward()
    # d/ds = −γ α_p and γ α_n
    assert cosines.grad.tolist() == [[-128 * 2.25, 128 * 1.25]]


@pytest.mark.parametrize("gamma", [64, 128])
def test_reference_values_and_gradients_are_reproduced(reproduces, gamma: float) -> None:
    loss = CircleLoss(margin=0.25, gamma=gamma)
    reproduces(loss, f"circle_pairwise/margin=0.25/gamma={gamma}")


@pytest.mark.parametrize(("margin", "gamma"), [(0.25, 4.0), (0.4, 16.0)])
def test_random_batches_cost_what_plain_loops_say(agrees_with_loops, margin, gamma) -> None:
    agrees_with_loops(CircleLoss(margin=margin, gamma=gamma), plain_loops(margin, gamma))


def test_rows_without_a_pair_count_with_0(make_batch: Callable[[Tensor], Batch]) -> None:
    features = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    batch = make_batch(torch.tensor([0, 0, 1]))
    value = CircleLoss(gamma=8)(HeadOutput(features, {"global": features}), batch).item()
    assert value == pytest.approx((cost([0.6], [0.0], 8) + cost([0.6], [0.8], 8)) / 3)


def test_parameters_out_of_range_are_errors() -> None:
    with pytest.raises(ConfigError, match="circle: margin: got 1, expected at least 0 and below 1"):
        CircleLoss(margin=1)
    with pytest.raises(ConfigError, match="circle: gamma: got 0, expected above 0"):
        CircleLoss(gamma=0)
    with pytest.raises(ConfigError, match="circle: gamma: got nan"):
        CircleLoss(gamma=math.nan)
