"""B074: a loss that stands at the value of equal embeddings is told, once."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from torch import nn

from reid_core.engine.collapse_watch import STEPS, CollapseWatch
from reid_core.models import WeightedLoss, WeightedLosses


class Hinge(nn.Module):
    collapsed_value = 0.3


@pytest.fixture
def trainer():
    model = nn.Module()
    model.losses = WeightedLosses([WeightedLoss("triplet", Hinge(), 2.0)])
    return SimpleNamespace(model=model)


def watch(trainer, rows):
    hook = CollapseWatch()
    for step, value in rows:
        hook.on_log(trainer, step, {"loss/triplet": value, "lr": 0.1})


def test_a_loss_that_stands_still_is_told_once(trainer, caplog):
    with caplog.at_level(logging.WARNING, "reid_core"):
        watch(trainer, [(step, 0.6 + 1e-5) for step in range(10, 3 * STEPS, 10)])
    assert [record.message.split(":")[0] for record in caplog.records] == [
        f"loss triplet has stood at 0.6 for {STEPS} steps, the value for embeddings that are all "
        "equal"
    ]


def test_the_only_loss_is_logged_as_the_sum(trainer, caplog):
    hook = CollapseWatch()
    with caplog.at_level(logging.WARNING, "reid_core"):
        for step in range(0, 2 * STEPS, 10):
            hook.on_log(trainer, step, {"loss": 0.6})
    assert len(caplog.records) == 1


def test_a_loss_that_moves_is_not(trainer, caplog):
    with caplog.at_level(logging.WARNING, "reid_core"):
        watch(trainer, [(step, 0.6 if step % 100 else 0.55) for step in range(10, 3 * STEPS, 10)])
        watch(trainer, [(step, 0.3) for step in range(10, 3 * STEPS, 10)])
    assert not caplog.records


def test_a_model_without_such_losses_is_let_be(caplog):
    other = SimpleNamespace(model=nn.Linear(1, 1))
    watch(other, [(step, 0.6) for step in range(10, 3 * STEPS, 10)])
    assert not caplog.records
