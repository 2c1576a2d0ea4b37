"""With the real wandb, which keeps its records on the disk here."""

from __future__ import annotations

import logging
import sys

import pytest

from reid_core.engine import Interrupted
from reid_core.errors import ConfigError, PluginError
from reid_core.hooks.tracker import RunInfo
from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_plugin_wandb.login import require_login
from reid_plugin_wandb.tracker import Wandb


class StopAt:
    @hookimpl
    def after_step(self, trainer, step):
        if step == 4:
            trainer.request_stop(15)


@pytest.fixture
def tiny(tmp_path):
    def make(**parameters):
        hook = {"name": "wandb", **parameters}
        return TinyTrainer(TinyRun(settings={"hooks": [hook]}).config(tmp_path))

    return make


def run_in(folder, run_id=None):
    return RunInfo(
        name="mine/1",
        recipe="mine",
        folder=folder,
        config={"seed": 3, "data": {"train": [{"name": "a"}]}},
        components=("loss triplet (a 0.1)",),
        environment={"torch": "2.6"},
        tags=("mine", "a"),
        run_id=run_id,
    )


def test_a_run_is_kept_with_all_that_belongs_to_it(tiny, tmp_path, kept, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train", "--password=hunter2"])
    monkeypatch.setenv("MY_TOKEN", "hunter3")
    artifacts = ["config", "report", "weights"]
    trainer = tiny(project="mine", run_name="first", group="g", tags=["x"], artifacts=artifacts)
    trainer.train()
    (run,) = kept(tmp_path / "run")
    (name,) = {evaluator.name for evaluator in trainer.evaluators}
    assert (run.project, run.name, run.group) == ("mine", "first", "g")
    assert set(run.tags) == {trainer.config.name, name, "x"}
    assert run.config["train"]["optimizer"]["lr"] == 0.01
    assert "torch" in run.config["reid_environment"]
    assert list(run.rows) == [2, 4, 6, 8]
    assert {"train/loss", "lr", "time/step", "epoch", f"val/{name}/mAP"} <= set(run.rows[8])
    assert run.rows[8][f"val/{name}/mAP"] == trainer.results.latest()[name]["mAP"]
    assert run.summary[f"best/{name}/mAP"] == trainer.results.best.value
    assert run.summary["status"] == "completed"
    assert run.exit_code == 0
    assert run.artifacts == {
        f"config config-{run.id}": ["config.yaml"],
        f"report report-{run.id}": ["report.html"],
        f"weights weights-{run.id}": ["best.safetensors"],
    }
    kept_text = run.text + "".join(
        path.read_text(errors="replace")
        for path in (tmp_path / "run/wandb").rglob("*")
        if path.is_file()
    )
    assert "hunter" not in kept_text, "neither command line nor environment is kept"


def test_a_resumed_run_goes_on_with_the_same_record(tiny, tmp_path, kept):
    trainer = tiny(artifacts=[])
    trainer.register_hooks([StopAt()])
    with pytest.raises(Interrupted):
        trainer.train()
    resumed = tiny(artifacts=[])
    resumed.resume_or_load("auto")
    resumed.train()
    # Offline there is a file a part of the run; `wandb sync` puts them together by their id.
    first, second = sorted(kept(tmp_path / "run"), key=lambda run: min(run.rows))
    assert first.id == second.id
    assert first.project == "reid"
    assert (first.exit_code, second.exit_code) == (130, 0)
    assert [list(first.rows), list(second.rows)] == [[2, 4], [6, 8]]


def test_a_record_of_the_program_itself_is_left_alone(tmp_path, kept):
    import wandb

    own = wandb.init(project="own", dir=tmp_path / "own", settings=wandb.Settings(console="off"))
    tracker = Wandb(artifacts=[])
    run_id = tracker.start(run_in(tmp_path))
    tracker.log(3, {"train/loss": float("nan")})
    tracker.end("failed", {})
    assert wandb.run is own
    assert run_id != own.id
    own.log({"mine": 1})
    own.finish()
    (run,) = kept(tmp_path)
    assert str(run.rows[3]["train/loss"]) == "nan"
    assert run.exit_code == 1
    assert run.name == "mine/1"


def test_whoever_is_not_logged_in_is_told_what_to_type_and_trains(tiny, monkeypatch, caplog):
    import wandb

    wandb.teardown()  # it has read the environment already
    monkeypatch.setenv("WANDB_MODE", "online")
    trainer = tiny()
    with caplog.at_level(logging.WARNING, "reid_core"):
        assert trainer.train().status == "completed"
    (line,) = [record.message for record in caplog.records if "switched off" in record.message]
    assert "hook 'wandb' (reid-plugin-wandb 0.1.0)" in line
    assert "the run goes on without it" in line
    assert "type: wandb login (or set WANDB_API_KEY)" in line
    assert "WANDB_MODE=offline" in line


@pytest.mark.parametrize("mode", ["offline", "disabled"])
def test_nobody_has_to_be_logged_in_to_send_nothing(mode):
    require_login(mode)
    with pytest.raises(PluginError, match="not logged in to http"):
        require_login("online")


def test_disabled_keeps_nothing(tiny, tmp_path, kept):
    assert tiny(mode="disabled").train().status == "completed"
    assert kept(tmp_path / "run") == []


def test_a_wrong_mode_is_refused():
    with pytest.raises(ConfigError, match="hook wandb: mode is 'of'; expected online, offline, d"):
        Wandb(mode="of")
