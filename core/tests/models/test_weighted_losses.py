from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_core.models import WeightedLoss, WeightedLosses

BATCH = Batch(
    images=torch.zeros(4, 3, 8, 8),
    pids=torch.tensor([0, 0, 1, 1]),
    camids=torch.zeros(4, dtype=torch.int64),
    index=torch.arange(4),
)


def output():
    torch.manual_seed(0)
    values = {
        name: torch.randn(4, 2, requires_grad=True) for name in ("global", "part_1", "part_2")
    }
    return HeadOutput(values["global"], values, {"global": values["global"]})


class Sum(nn.Module):
    """The sum of all features, which remembers what it saw."""

    def forward(self, output, batch):
        self.seen = (sorted(output.features), sorted(output.logits))
        return torch.stack([value.sum() for value in output.features.values()]).sum()


def test_a_loss_sees_the_branches_it_asks_for_and_no_others():
    parts, everything = Sum(), Sum()
    losses = WeightedLosses(
        [
            WeightedLoss("parts", parts, 2.0, ("part_*",)),
            WeightedLoss("all", everything, 0.5),
        ]
    )
    out = output()
    result = losses.weighted(out, BATCH)
    assert parts.seen == (["part_1", "part_2"], [])
    assert everything.seen == (["global", "part_1", "part_2"], ["global"])
    expected = 2 * (out.features["part_1"].sum() + out.features["part_2"].sum())
    torch.testing.assert_close(result.losses["parts"], expected)


def test_b083_the_total_is_the_sum_of_weight_times_value():
    weights = {"one": 1.0, "half": 0.5, "tiny": 0.0005}
    losses = WeightedLosses([WeightedLoss(n, Sum(), w) for n, w in weights.items()])
    out = output()
    plain = sum(value.sum() for value in out.features.values())
    result = losses.weighted(out, BATCH)
    assert list(result.losses) == list(weights)
    for name, weight in weights.items():
        assert result.losses[name].item() == pytest.approx((weight * plain).item(), abs=1e-6)


def test_branches_that_do_not_exist_are_named_with_those_that_do():
    losses = WeightedLosses([WeightedLoss("triplet", Sum(), 1.0, ("local_*",))])
    with pytest.raises(ConfigError, match=r"triplet asks for branches \['local_\*'\].*part_1"):
        losses.weighted(output(), BATCH)


def test_each_pattern_of_branches_has_to_match_one():
    losses = WeightedLosses([WeightedLoss("triplet", Sum(), 1.0, ("global", "prat_*"))])
    with pytest.raises(ConfigError, match=r"triplet asks for branches \['prat_\*'\].*part_1"):
        losses.weighted(output(), BATCH)


def test_its_modules_are_trained_and_saved_once():
    inner = nn.Linear(2, 2)
    losses = WeightedLosses([WeightedLoss("inner", inner)])
    assert sorted(losses.state_dict()) == ["0.bias", "0.weight"]
    assert [id(p) for p in losses.parameters()] == [id(p) for p in inner.parameters()]


def test_b083_losses_are_described_with_weight_and_branches():
    losses = WeightedLosses(
        [WeightedLoss("one", Sum()), WeightedLoss("two", Sum(), 0.0005, ("part_*", "global"))]
    )
    assert losses.describe() == "1 x one, 0.0005 x two of part_* global"
