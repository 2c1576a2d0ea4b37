import math

import pytest
import torch

from reid_plugin_losses.reductions import log_sum_exp_where, mean_of_nonzero, mean_where

VALUES = [[1.0, -2.0, 0.0], [4.0, 0.0, 3.0]]
MASK = torch.tensor([[True, True, True], [False, True, True]])


def test_what_is_not_counted_does_not_count() -> None:
    values = torch.tensor(VALUES)
    assert mean_where(values, MASK).item() == pytest.approx((1 - 2 + 0 + 0 + 3) / 5)
    assert mean_of_nonzero(values, MASK).item() == pytest.approx((1 - 2 + 3) / 3)


def test_a_mask_may_be_narrower_than_the_values() -> None:
    values, rows = torch.tensor(VALUES), torch.tensor([[False], [True]])
    assert mean_where(values, rows).item() == pytest.approx(7 / 3)
    assert mean_of_nonzero(values, rows).item() == pytest.approx(7 / 2)


@pytest.mark.parametrize("mean", [mean_where, mean_of_nonzero])
def test_the_mean_of_nothing_is_0_with_a_gradient(mean) -> None:
    values = torch.full((2, 2), torch.nan, requires_grad=True)
    result = mean(values, torch.zeros(2, 2, dtype=torch.bool))
    result.backward()
    assert result.item() == 0
    assert torch.equal(values.grad, torch.zeros(2, 2))


def test_log_sum_exp_is_over_what_is_counted() -> None:
    values = torch.tensor(VALUES)
    expected = [math.log(math.exp(1) + math.exp(-2) + 1), math.log(1 + math.exp(3))]
    assert log_sum_exp_where(values, MASK).tolist() == pytest.approx(expected)
    columns = [1.0, math.log(math.exp(-2) + 1), math.log(1 + math.exp(3))]
    assert log_sum_exp_where(values, MASK, dim=0).tolist() == pytest.approx(columns)


def test_an_empty_sum_costs_nothing_and_has_no_gradient() -> None:
    values = torch.tensor(VALUES, requires_grad=True)
    empty = log_sum_exp_where(values, torch.zeros_like(MASK))
    cost = torch.nn.functional.softplus(empty + 1000).sum()
    cost.backward()
    assert cost.item() == 0
    assert torch.equal(values.grad, torch.zeros(2, 3))
