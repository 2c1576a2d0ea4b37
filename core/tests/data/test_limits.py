"""Training on some of the batches: the same ones, the same pixels, and said with the figures."""

import json
import logging

import pytest
import torch

from reid_core.config import load_config
from reid_core.config.training import TrainConfig
from reid_core.data.limits import limit_caveats
from reid_core.data.sources import Sources
from reid_core.engine import DefaultTrainer
from reid_core.errors import CheckpointError, ConfigError
from reid_core.optim.preview import steps_of_data


@pytest.fixture
def trainer_of(tiny_recipe, tmp_path):
    """``trainer_of(settings)`` builds a trainer of 4 epochs of 4 batches, but for the settings."""

    def build(**settings):
        plain = {f"train.{key}": value for key, value in settings.items()}
        return DefaultTrainer(load_config(tiny_recipe, {"output": str(tmp_path / "run"), **plain}))

    return build


def batches(trainer, epoch):
    return [(b.index.tolist(), b.images.clone()) for b in trainer.data_loader.epoch(epoch)]


def assert_same(first, second):
    assert [rows for rows, _ in first] == [rows for rows, _ in second]
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(first, second, strict=True))


def test_a_limited_epoch_is_the_beginning_of_the_whole_one(trainer_of):
    assert_same(batches(trainer_of(limit_batches=3), 1), batches(trainer_of(), 1)[:3])


def test_the_length_of_the_run_and_the_schedule_follow_the_limit(trainer_of):
    trainer = trainer_of(limit_batches=3)
    assert (trainer.iters_per_epoch, trainer.max_iter, trainer.max_epoch) == (3, 12, 4)
    # The milestone is after epoch 2: at step 6 of the limited run.
    before, after = (trainer.learning_rate.factor(step) for step in (5, 6))
    assert after == pytest.approx(before / 10)
    assert steps_of_data(trainer.config) == 3


def test_overfitting_repeats_the_batches_of_epoch_0_pixel_by_pixel(trainer_of):
    whole, repeated = trainer_of(), trainer_of(overfit_batches=2)
    first = batches(whole, 0)[:2]
    for epoch in (0, 1, 7):
        assert_same(batches(repeated, epoch), first)
    assert batches(whole, 1)[0][0] != first[0][0]


def test_a_limited_run_says_so_in_the_log_and_beside_its_figures(trainer_of, caplog):
    with caplog.at_level(logging.INFO):
        trainer = trainer_of(overfit_batches=2, epochs=2)
        trainer.resume_or_load()
        trainer.train()
    assert "only the first 2 of 4 batches" in caplog.text
    assert "the same 2 batches are trained on again and again" in caplog.text
    results = json.loads((trainer.folder.path / "results.json").read_text())
    caveat = "trained on the same 2 batches again and again (train.overfit_batches)"
    assert caveat in results["evaluations"][-1]["caveats"]
    assert caveat in (trainer.folder.path / "report.html").read_text()


def test_a_run_is_not_resumed_with_another_limit(trainer_of):
    state = trainer_of(limit_batches=3).state_dict()
    with pytest.raises(CheckpointError, match="epochs had 3 steps, now one has 4"):
        trainer_of().load_state_dict(state)


def test_more_batches_than_there_are_is_all_of_them_and_said(trainer_of, caplog):
    with caplog.at_level(logging.INFO):
        trainer = trainer_of(limit_batches=9)
    assert len(trainer.data_loader) == 4
    assert "train.limit_batches is 9: an epoch has 4, all are used" in caplog.text
    assert limit_caveats(trainer.config.train, 4) == ()


def test_both_limits_at_once_are_refused_before_data_is_read(trainer_of, monkeypatch):
    monkeypatch.setattr(Sources, "train_manifests", None)
    with pytest.raises(ConfigError) as caught:
        trainer_of(limit_batches=3, overfit_batches=2)
    assert "overfit_batches: is 2, and train.limit_batches is 3; expected one" in str(caught.value)


def test_the_caveat_names_what_the_run_was_limited_to():
    assert limit_caveats(TrainConfig(limit_batches=3), 3) == (
        "trained on 3 batches an epoch (train.limit_batches)",
    )
    assert limit_caveats(TrainConfig(overfit_batches=1), 1) == (
        "trained on the same 1 batch again and again (train.overfit_batches)",
    )
    assert limit_caveats(TrainConfig(), 3) == ()
