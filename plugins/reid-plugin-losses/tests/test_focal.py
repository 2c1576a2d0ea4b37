from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.focal import FocalLoss

MakeBatch = Callable[[Tensor], Batch]


def output(*logits: Tensor) -> HeadOutput:
    named = {f"branch{i}": values for i, values in enumerate(logits)}
    return HeadOutput(embedding=torch.zeros(len(logits[0]), 2), features={}, logits=named)


def plain_loops(logits: Tensor, pids: Tensor, alpha: float, gamma: float) -> Tensor:
    costs = []
    for row, label in zip(logits, pids.tolist(), strict=True):
        p = row[label].exp() / row.exp().sum()
        costs.append(-alpha * (1 - p) ** gamma * p.log())
    return torch.stack(costs).mean()


def test_the_reference_value_and_gradient_are_reproduced(reproduces) -> None:
    reproduces(FocalLoss(alpha=0.25, gamma=2), "focal/alpha=0.25/gamma=2")


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2.0), (1.0, 0.0), (2.0, 0.5), (1.0, 5.0)])
@pytest.mark.parametrize("seed", range(3))
def test_random_logits_cost_what_plain_loops_say(
    make_batch: MakeBatch, seed: int, alpha: float, gamma: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(7, 5, generator=generator).double() * 3
    pids = torch.randint(5, (7,), generator=generator)
    ours, theirs = (given.clone().requires_grad_() for _ in range(2))
    value = FocalLoss(alpha=alpha, gamma=gamma)(output(ours), make_batch(pids))
    expected = plain_loops(theirs, pids, alpha, gamma)
    torch.testing.assert_close(value, expected)
    (found,), (wanted,) = torch.autograd.grad(value, ours), torch.autograd.grad(expected, theirs)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_a_row_that_is_surely_right_costs_nothing_and_has_a_finite_gradient(
    make_batch: MakeBatch, gamma: float
) -> None:
    logits = torch.tensor([[300.0, 0.0]], requires_grad=True)
    value = FocalLoss(gamma=gamma)(output(logits), make_batch(torch.tensor([0])))
    value.backward()
    assert value.item() == 0
    assert torch.equal(logits.grad, torch.zeros(1, 2))


def test_the_loss_of_several_branches_is_their_mean(make_batch: MakeBatch) -> None:
    first, second = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(0))
    batch, loss = make_batch(torch.arange(6) % 4), FocalLoss()
    each = [loss(output(logits), batch) for logits in (first, second)]
    torch.testing.assert_close(loss(output(first, second), batch), (each[0] + each[1]) / 2)


def test_wrong_parameters_and_heads_are_errors(make_batch: MakeBatch) -> None:
    with pytest.raises(
        ConfigError, match=r"focal: alpha: got 0, expected above 0, for example 0\.25"
    ):
        FocalLoss(alpha=0)
    with pytest.raises(ConfigError, match="focal: gamma: got -1, expected at least 0"):
        FocalLoss(gamma=-1)
    without = HeadOutput(torch.zeros(2, 4), {"global": torch.zeros(2, 4)})
    with pytest.raises(ConfigError, match=r"focal: the head gave no logits.*such as bnneck"):
        FocalLoss()(without, make_batch(torch.tensor([0, 1])))
