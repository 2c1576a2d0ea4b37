"""B074: a loss that stands at the value of equal embeddings is told, once."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from torch import nn

from reid_core.engine.faults.collapse_watch import STEPS, CollapseWatch
from reid_core.models import WeightedLoss, WeightedLosses
from reid_core.testing.batches import tiny_reid_batch

BATCH = tiny_reid_batch()


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


def rows_of(name, positive, negative):
    return {
        f"{name}/hardest_positive_distance": positive,
        f"{name}/hardest_negative_distance": negative,
    }


@pytest.mark.parametrize(("positive", "negative"), [(0.0, 0.0), (1e-6, 3e-6), (0.5, 0.5002)])
def test_distances_that_are_tied_are_told_once(caplog, positive, negative):
    other, hook = SimpleNamespace(model=nn.Linear(1, 1)), CollapseWatch()
    with caplog.at_level(logging.WARNING, "reid_core"):
        for step in range(10, 3 * STEPS, 10):
            hook.on_log(other, step, rows_of("circle", positive, negative))
    (record,) = caplog.records
    assert record.getMessage().startswith(
        f"all distances that loss circle sees have been tied for {STEPS} steps (farthest positive "
        f"{positive:.4g}, nearest negative {negative:.4g}): the embeddings are all equal; lower"
    )


def test_distances_that_differ_now_and_then_are_not(caplog):
    other, hook = SimpleNamespace(model=nn.Linear(1, 1)), CollapseWatch()
    with caplog.at_level(logging.WARNING, "reid_core"):
        for step in range(10, 3 * STEPS, 10):
            hook.on_log(other, step, rows_of("a", 0.5, 0.5 if step % 100 else 0.6))
            hook.on_log(other, step, rows_of("b", 0.5, 0.49))
    assert not caplog.records


def epochs(accuracies, num_classes, *, steps=STEPS, log_every=10):
    """Log epochs with these mean accuracies."""
    trainer = SimpleNamespace(
        model=nn.Linear(1, 1), label_map=SimpleNamespace(num_classes=num_classes), iter=0
    )
    hook = CollapseWatch()
    for epoch, accuracy in enumerate(accuracies):
        hook.before_epoch(trainer)
        for _ in range(steps):
            hook.before_step(BATCH)
        for step in [*range(log_every, steps, log_every), steps]:
            hook.on_log(trainer, trainer.iter + step, {"accuracy": accuracy, "lr": 0.1})
        trainer.iter += steps
        hook.after_epoch(trainer, epoch)


@pytest.mark.parametrize(("accuracy", "num_classes"), [(0.0, 751), (1.9 / 751, 751), (0.26, 4)])
def test_an_accuracy_at_chance_is_told_once(caplog, accuracy, num_classes):
    with caplog.at_level(logging.WARNING, "reid_core"):
        epochs([accuracy] * 3, num_classes)
    (record,) = caplog.records
    assert record.getMessage().startswith(
        f"accuracy in epoch 1 is {accuracy:.4f}, and guessing among {num_classes} identities gives "
        f"{1 / num_classes:.4f}: the classifier has learned nothing; "
    )


@pytest.mark.parametrize(
    ("accuracies", "num_classes", "steps"),
    [
        ([0.0, 0.01], 751, STEPS),
        ([0.25, 0.29], 4, STEPS),
        # The warm-up of the first epoch, and short runs, are no sign.
        ([0.0], 751, STEPS),
        ([0.0, 0.0, 0.0], 751, STEPS - 1),
    ],
)
def test_an_accuracy_above_it_or_of_a_short_epoch_is_not(caplog, accuracies, num_classes, steps):
    with caplog.at_level(logging.WARNING, "reid_core"):
        epochs(accuracies, num_classes, steps=steps)
    assert not caplog.records


def test_the_mean_counts_steps_and_not_rows(caplog):
    with caplog.at_level(logging.WARNING, "reid_core"):
        trainer = SimpleNamespace(
            model=nn.Linear(1, 1), label_map=SimpleNamespace(num_classes=100), iter=500
        )
        hook = CollapseWatch()
        hook.before_epoch(trainer)
        hook.before_step(BATCH)
        hook.on_log(trainer, 501, {"accuracy": 1.0})
        hook.on_log(trainer, 801, {"accuracy": 0.005})
        hook.after_epoch(trainer, 1)
    assert len(caplog.records) == 1, "(1 + 300 * 0.005) / 301 is below twice 1 / 100"
