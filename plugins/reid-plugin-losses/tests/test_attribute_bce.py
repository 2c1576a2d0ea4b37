import math

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.attribute_bce import AttributeBCELoss

RATIOS = (0.1, 0.5, 0.9)


def call(loss: AttributeBCELoss, logits: Tensor | None, answers: Tensor | None) -> Tensor:
    rows = torch.arange(4)
    columns = {} if answers is None else {"attributes": answers}
    batch = Batch(torch.zeros(4, 3, 1, 1), rows, rows, rows, columns)
    embedding = torch.zeros(4, 2)
    return loss(HeadOutput(embedding, {"global": embedding}, attributes=logits), batch)


def plain_loops(logits: Tensor, answers: Tensor, ratios: tuple[float, ...] | None) -> Tensor:
    costs = []
    for row, given in zip(logits, answers.tolist(), strict=True):
        for place, answer in enumerate(given):
            if answer < 0:
                continue
            ratio = ratios[place] if ratios else 0
            weight = math.exp(1 - ratio if answer else ratio) if ratios else 1
            p = 1 / (1 + (-row[place]).exp())
            costs.append(-weight * (p if answer else 1 - p).log())
    return torch.stack(costs).mean()


@pytest.mark.parametrize("ratios", [None, RATIOS])
@pytest.mark.parametrize("lowest", [0, -1])
@pytest.mark.parametrize("seed", range(3))
def test_values_and_gradients_are_those_of_plain_loops(seed: int, lowest: int, ratios) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(4, 3, generator=generator).double()
    answers = torch.randint(lowest, 2, (4, 3), generator=generator)
    ours, theirs = (given.clone().requires_grad_() for _ in range(2))
    value = call(AttributeBCELoss(positive_ratios=ratios), ours, answers)
    expected = plain_loops(theirs, answers, ratios)
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=0)
    (found,), (wanted,) = torch.autograd.grad(value, ours), torch.autograd.grad(expected, theirs)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-9)


def test_a_batch_of_which_nothing_is_known_costs_nothing() -> None:
    logits = torch.randn(4, 3, requires_grad=True)
    value = call(AttributeBCELoss(positive_ratios=RATIOS), logits, torch.full((4, 3), -1))
    value.backward()
    assert value.item() == 0
    assert torch.equal(logits.grad, torch.zeros(4, 3))


def test_the_accuracy_is_over_what_is_known() -> None:
    loss = AttributeBCELoss()
    assert loss.metrics() == {}
    logits = torch.tensor([[1.0, -1.0, 1.0]]).repeat(4, 1)
    call(loss, logits, torch.tensor([[1, 0, -1], [0, 0, -1], [1, 1, -1], [1, 0, -1]]))
    assert loss.metrics()["accuracy"].item() == 6 / 8


def test_answers_may_be_decimal_numbers() -> None:
    logits, answers = torch.randn(4, 3), torch.randint(2, (4, 3))
    loss = AttributeBCELoss()
    assert torch.equal(call(loss, logits, answers), call(loss, logits, answers.float()))


def test_half_precision_is_evaluated_in_float32() -> None:
    logits, answers = torch.randn(4, 3).bfloat16() * 50, torch.randint(2, (4, 3))
    loss = AttributeBCELoss(positive_ratios=RATIOS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = call(loss, logits, answers)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, call(loss, logits.float(), answers))


def test_what_is_missing_is_named() -> None:
    answers = torch.zeros(4, 3, dtype=torch.int64)
    with pytest.raises(ConfigError, match=r"the head gave no attributes.*such as attribute"):
        call(AttributeBCELoss(), None, answers)
    with pytest.raises(ConfigError, match=r"has no column attributes.*3 numbers.*columns: none"):
        call(AttributeBCELoss(), torch.zeros(4, 3), None)
    with pytest.raises(ConfigError, match=r"gave \(4, 2\).*is \(4, 3\).*num_attributes"):
        call(AttributeBCELoss(), torch.zeros(4, 2), answers)
    with pytest.raises(ConfigError, match="positive_ratios: got 3 numbers, expected 2"):
        call(AttributeBCELoss(positive_ratios=RATIOS), torch.zeros(4, 2), answers[:, :2])
    with pytest.raises(ConfigError, match=r"positive_ratios\[1\]: got 1\.5, expected at least 0"):
        AttributeBCELoss(positive_ratios=(0.5, 1.5))
