"""What the hook tells a sweep, and when."""

from __future__ import annotations

import logging

import pytest

from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_plugin_ray import report_hook

HOOK = "reid-plugin-ray/ray_tune"


@pytest.fixture
def reports(monkeypatch):
    """Let every run be a trial; returns what is reported."""
    tune = pytest.importorskip("ray.tune", reason="ray is not installed")
    found = []
    monkeypatch.setattr(report_hook, "_is_trial", lambda: True)
    monkeypatch.setattr(tune, "report", found.append)
    return found


def test_each_evaluation_is_reported_once_with_the_metrics_of_the_set(tmp_path, reports):
    trainer = TinyTrainer(TinyRun(HOOK).config(tmp_path))
    trainer.train()
    assert [(one["step"], one["epoch"]) for one in reports] == [(4, 1), (8, 2)]
    last = trainer.results.latest()["market1501"]
    assert reports[-1] == {
        "step": 8,
        "epoch": 2,
        "loss": trainer.storage.latest()["loss"][0],
        **{name: last[name] for name in report_hook.METRICS},
        **{f"market1501/{name}": value for name, value in last.items()},
    }


def test_a_report_comes_after_the_checkpoint_that_has_the_evaluation(
    tmp_path, reports, monkeypatch
):
    import torch
    from ray import tune

    saved = []
    trainer = TinyTrainer(TinyRun(HOOK).config(tmp_path))

    def report(numbers):
        dict(trainer.hooks.items())["checkpoint"].wait(trainer)
        path = tmp_path / "run/checkpoints" / f"step_{numbers['step']:08d}.pt"
        results = torch.load(path, weights_only=True)["results"]
        saved.append([entry["step"] for entry in results["evaluations"]])

    monkeypatch.setattr(tune, "report", report)
    trainer.train()
    assert saved == [[4], [4, 8]]


def test_the_evaluation_of_the_untrained_model_is_reported_as_epoch_0(tmp_path, reports):
    settings = {"evaluate.at_start": True}
    TinyTrainer(TinyRun(HOOK, settings=settings).config(tmp_path)).train()
    assert [one["epoch"] for one in reports] == [0, 1, 2]


def test_the_evaluation_of_a_run_that_is_stopped_early_is_reported(tmp_path, reports):
    from reid_core.hookspecs import hookimpl

    class StopAt6:
        @hookimpl
        def should_stop(self, step):
            return "enough" if step == 5 else None

    trainer = TinyTrainer(TinyRun(HOOK).config(tmp_path))
    trainer.register_hooks([StopAt6()])
    trainer.train()
    assert [one["epoch"] for one in reports] == [1, 1.5]


def test_outside_of_a_sweep_it_says_so_and_reports_nothing(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "reid_plugin_ray"):
        TinyTrainer(TinyRun(HOOK).config(tmp_path)).train()
    assert "this run is no trial of a sweep: hook ray_tune reports nothing" in caplog.text


def test_a_run_without_evaluations_is_refused(tmp_path):
    from reid_core.engine.check import check_config
    from reid_core.errors import ConfigError

    config = TinyRun(HOOK, settings={"evaluate.every": 0}).config(tmp_path)
    with pytest.raises(ConfigError, match="hook ray_tune reports evaluations; set it above 0"):
        check_config(config)
