import math
from collections.abc import Callable, Mapping
from typing import cast

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.cross_entropy import CrossEntropyLoss, Smoothing

MakeBatch = Callable[[Tensor], Batch]

FIXED: tuple[Smoothing, ...] = ("all_classes", "other_classes")  # the ones with one ε for all rows


def output(*logits: Tensor) -> HeadOutput:
    named = {f"branch{i}": values for i, values in enumerate(logits)}
    return HeadOutput(embedding=torch.zeros(len(logits[0]), 2), features={}, logits=named)


def plain_loops(logits: Tensor, pids: Tensor, epsilon: float, smoothing: Smoothing) -> float:
    total = 0.0
    for row, label in zip(logits.tolist(), pids.tolist(), strict=True):
        log_sum = math.log(sum(math.exp(value) for value in row))
        for k, value in enumerate(row):
            if smoothing == "all_classes":
                target = epsilon / len(row) + (1 - epsilon) * (k == label)
            else:
                target = 1 - epsilon if k == label else epsilon / (len(row) - 1)
            total -= target * (value - log_sum)
    return total / len(pids)


@pytest.mark.parametrize(
    ("epsilon", "smoothing", "expected"),
    [
        (0.0, "all_classes", 0.440190),
        (0.0, "other_classes", 0.440190),
        (0.1, "all_classes", 0.590190),
        (0.1, "other_classes", 0.640190),
    ],
)
def test_each_convention_gives_its_published_value(  # B081
    make_batch: MakeBatch, epsilon: float, smoothing: Smoothing, expected: float
) -> None:
    loss = CrossEntropyLoss(label_smoothing=epsilon, smoothing=smoothing)
    value = loss(output(torch.tensor([[2.0, 1.0, 0.0, -1.0]])), make_batch(torch.tensor([0])))
    assert value.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("smoothing", FIXED)
def test_equal_logits_cost_the_logarithm_of_the_number_of_classes(
    make_batch: MakeBatch, smoothing: Smoothing
) -> None:
    loss = CrossEntropyLoss(label_smoothing=0.1, smoothing=smoothing)
    value = loss(output(torch.zeros(1, 4)), make_batch(torch.tensor([0])))
    assert value.item() == pytest.approx(1.386294, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_other_classes_gives_the_reference_values_and_gradients(
    golden: Mapping[str, Tensor], make_batch: MakeBatch, epsilon: float
) -> None:
    key = f"cross_entropy_excluding_target/eps={epsilon}/alpha=0.2"
    logits = golden["logits"].clone().requires_grad_()
    loss = CrossEntropyLoss(label_smoothing=epsilon, smoothing="other_classes")
    value = loss(output(logits), make_batch(golden["labels"]))
    value.backward()
    torch.testing.assert_close(value.detach(), golden[key], rtol=1e-4, atol=0.0)
    torch.testing.assert_close(logits.grad, golden[f"{key}.grad"], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("smoothing", FIXED)
@pytest.mark.parametrize("seed", range(5))
def test_random_logits_cost_what_plain_loops_say(
    make_batch: MakeBatch, seed: int, smoothing: Smoothing
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(7, 5, generator=generator).double() * 3
    pids = torch.randint(5, (7,), generator=generator)
    loss = CrossEntropyLoss(label_smoothing=0.2, smoothing=smoothing)
    value = loss(output(logits), make_batch(pids))
    assert value.item() == pytest.approx(plain_loops(logits, pids, 0.2, smoothing), rel=1e-12)


def adaptive_in_plain_loops(logits: Tensor, pids: Tensor, alpha: float) -> Tensor:
    total = logits.new_zeros(())
    for row, label in zip(logits, pids.tolist(), strict=True):
        probabilities = row.exp() / row.exp().sum()
        epsilon = alpha * probabilities[label].item()  # a number: it has no gradient
        for k, probability in enumerate(probabilities):
            target = 1 - epsilon if k == label else epsilon / (len(row) - 1)
            total = total - target * probability.log()
    return total / len(pids)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_the_adaptive_mass_is_what_plain_loops_say(
    make_batch: MakeBatch, seed: int, alpha: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(7, 5, generator=generator).double() * 3
    pids = torch.randint(5, (7,), generator=generator)
    ours, theirs = (given.clone().requires_grad_() for _ in range(2))
    value = CrossEntropyLoss(smoothing="adaptive", alpha=alpha)(output(ours), make_batch(pids))
    expected = adaptive_in_plain_loops(theirs, pids, alpha)
    torch.testing.assert_close(value, expected)
    (found,), (wanted,) = (
        torch.autograd.grad(value, ours),
        torch.autograd.grad(expected, theirs),
    )
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("reduction", ["mean", "nonzero_mean"])
def test_adaptive_gives_the_reference_value_and_gradient(reproduces, reduction) -> None:
    loss = CrossEntropyLoss(smoothing="adaptive", alpha=0.2, reduction=reduction)
    reproduces(loss, "cross_entropy_excluding_target/eps=-1.0/alpha=0.2")


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_mean_of_nonzero_rows_gives_the_reference_value(reproduces, epsilon: float) -> None:
    loss = CrossEntropyLoss(
        label_smoothing=epsilon, smoothing="other_classes", reduction="nonzero_mean"
    )
    reproduces(loss, f"cross_entropy_excluding_target/eps={epsilon}/alpha=0.2")


def test_rows_that_cost_nothing_may_be_left_out_of_the_mean(make_batch: MakeBatch) -> None:
    # The first row's probability is 1 in float32.
    logits = torch.tensor([[200.0, 0.0], [1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    batch = make_batch(torch.tensor([0, 0, 0]))
    total = sum(math.log(1 + math.exp(x)) for x in (-1.0, 1.0))
    mean = CrossEntropyLoss()(output(logits), batch)
    assert mean.item() == pytest.approx(total / 3)
    nonzero = CrossEntropyLoss(reduction="nonzero_mean")(output(logits), batch)
    assert nonzero.item() == pytest.approx(total / 2)
    all_zero = CrossEntropyLoss(reduction="nonzero_mean")(
        output(logits[:1]), make_batch(torch.tensor([0]))
    )
    assert all_zero.item() == 0
    assert all_zero.requires_grad


@pytest.mark.parametrize("reduction", ["mean", "nonzero_mean"])
def test_adaptive_with_a_single_class_costs_nothing(make_batch: MakeBatch, reduction) -> None:
    logits = torch.randn(3, 1, requires_grad=True)
    loss = CrossEntropyLoss(smoothing="adaptive", reduction=reduction)
    value = loss(output(logits), make_batch(torch.zeros(3, dtype=torch.int64)))
    value.backward()
    assert value.item() == 0.0
    assert torch.equal(logits.grad, torch.zeros(3, 1))


def test_adaptive_with_a_fixed_mass_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"label_smoothing: got 0\.1 with smoothing: adaptive"):
        CrossEntropyLoss(smoothing="adaptive", label_smoothing=0.1)


@pytest.mark.parametrize("smoothing", [{"label_smoothing": 0.1}, {"smoothing": "adaptive"}])
def test_evaluation_mode_does_not_smooth(make_batch: MakeBatch, smoothing) -> None:  # B081
    loss = CrossEntropyLoss(**smoothing).eval()
    value = loss(output(torch.tensor([[2.0, 1.0, 0.0, -1.0]])), make_batch(torch.tensor([0])))
    assert value.item() == pytest.approx(0.440190, abs=1e-6)


@pytest.mark.parametrize("smoothing", FIXED)
def test_a_single_class_costs_nothing(make_batch: MakeBatch, smoothing: Smoothing) -> None:
    logits = torch.randn(3, 1, requires_grad=True)
    loss = CrossEntropyLoss(label_smoothing=0.1, smoothing=smoothing)
    value = loss(output(logits), make_batch(torch.zeros(3, dtype=torch.int64)))
    value.backward()
    assert value.item() == 0.0
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros(3, 1))


def test_the_loss_of_several_branches_is_their_mean(make_batch: MakeBatch) -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(2, 6, 4, generator=generator)
    batch = make_batch(torch.arange(6) % 4)
    loss = CrossEntropyLoss(label_smoothing=0.1)
    each = [loss(output(logits), batch) for logits in (first, second)]
    torch.testing.assert_close(loss(output(first, second), batch), (each[0] + each[1]) / 2)


def test_bfloat16_logits_under_autocast_are_evaluated_in_float32(make_batch: MakeBatch) -> None:
    logits = (torch.randn(4, 6, generator=torch.Generator().manual_seed(0)) * 100).bfloat16()
    logits.requires_grad_()
    batch = make_batch(torch.arange(4))
    loss = CrossEntropyLoss(label_smoothing=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(output(logits), batch)
    value.backward()
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(output(logits.float()), batch))
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_autocast_is_off_while_the_loss_is_computed(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def record(logits: Tensor, pids: Tensor, label_smoothing: float) -> Tensor:
        seen.append(torch.is_autocast_enabled("cpu"))
        return logits.sum()

    monkeypatch.setattr(torch.nn.functional, "cross_entropy", record)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        CrossEntropyLoss()(output(torch.zeros(2, 3)), make_batch(torch.tensor([0, 1])))
    assert seen == [False]


@pytest.mark.parametrize("smoothing", FIXED)
def test_gradients_are_right(make_batch: MakeBatch, smoothing: Smoothing) -> None:
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).double()
    loss = CrossEntropyLoss(label_smoothing=0.1, smoothing=smoothing)
    batch = make_batch(torch.tensor([0, 3, 1]))
    assert torch.autograd.gradcheck(
        lambda values: loss(output(values), batch), (logits.requires_grad_(),)
    )


def test_a_head_without_logits_is_an_error_that_says_why(make_batch: MakeBatch) -> None:
    without = HeadOutput(embedding=torch.zeros(2, 4), features={"global": torch.zeros(2, 4)})
    with pytest.raises(ConfigError, match=r"no logits.*head has no classifier.*such as bnneck"):
        CrossEntropyLoss()(without, make_batch(torch.tensor([0, 1])))


@pytest.mark.parametrize("epsilon", [-0.1, 1.0, float("nan")])
def test_a_smoothing_out_of_range_is_an_error(epsilon: float) -> None:
    for name in ("label_smoothing", "alpha"):
        with pytest.raises(ConfigError, match=rf"{name}: got {epsilon}, expected at least 0"):
            CrossEntropyLoss(**{name: epsilon})


def test_an_unknown_convention_is_an_error() -> None:
    with pytest.raises(
        ConfigError, match=r"smoothing: got 'all_clases'.*did you mean all_classes\?"
    ):
        CrossEntropyLoss(smoothing=cast("Smoothing", "all_clases"))


def test_smoothing_may_not_make_the_label_the_least_likely_class(make_batch: MakeBatch) -> None:
    loss = CrossEntropyLoss(label_smoothing=0.6, smoothing="other_classes")
    with pytest.raises(ConfigError, match=r"label_smoothing 0\.6.*expected at most 0\.5"):
        loss(output(torch.zeros(1, 2)), make_batch(torch.tensor([0])))
