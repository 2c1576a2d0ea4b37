"""Real sweeps: one with accidents in it, and one that is interrupted and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from reid_core.checkpoint.weights import read_state_dict
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_plugin_ray.command import main

pytestmark = pytest.mark.xdist_group("ray")

#: A hook that lets a trial die, fail, or be.
ACCIDENT = """
import os
import signal

from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS


class Accident:
    def __init__(self, *, kind: str = "none") -> None:
        self.kind = kind

    @hookimpl
    def before_step(self, trainer, step):
        died = trainer.folder.path / "died"
        if step == 5 and self.kind == "dies" and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if step == 5 and self.kind == "fails":
            raise RuntimeError("this trial fails on purpose")


HOOKS.register(Accident, name="accident")
"""


@pytest.fixture
def reid_ray(tmp_path, local_ray):
    """Return the command line of ``reid-ray`` in the running Ray."""

    def words(*more):
        command = [str(Path(sys.executable).parent / "reid-ray"), "tune", "--address", local_ray]
        return [*command, *(str(word) for word in more)]

    return words


def lines(run):
    """Return the rows of a run's metric log without what a clock measured."""
    rows = [json.loads(row) for row in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def trained(recipe, run):
    """Train in this process, by one thread as a worker of one CPU does."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    DefaultTrainer(load_config(recipe, {"output": str(run)})).train()
    torch.set_num_threads(threads)
    return run


def test_trials_that_die_go_on_and_trials_that_fail_do_not_end_the_sweep(
    tmp_path, recipe, reid_ray
):
    (tmp_path / "accident.py").write_text(ACCIDENT)
    (tmp_path / "space.yaml").write_text("hooks.0.kind: {grid: [dies, fails]}")
    words = reid_ray("--config", recipe, "--space", "space.yaml", "-o", "sweep", "--samples", 1)
    words += ["--set", "hooks=[{name: accident}]", "--plugin-file", "accident.py"]
    words += ["--scheduler", "none", "--cpus", "1"]
    wide = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=240, env=wide
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "sweep/tune.json").read_text())
    by_kind = {trial["values"]["hooks.0.kind"]: trial for trial in told["trials"]}
    states = {kind: trial["state"] for kind, trial in by_kind.items()}
    assert states == {"dies": "completed", "fails": "failed"}
    assert by_kind["fails"]["error"].startswith("RuntimeError: this trial fails on purpose")
    assert "this trial fails on purpose" in done.stdout
    assert by_kind["fails"]["metrics"]["epoch"] == 1

    assert done.stderr.count("its process died; it goes on from its checkpoint") == 1
    assert done.stderr.count("failed; the sweep goes on") == 1

    # The trial that died is a run that did not, to the bit.
    plain, died = trained(recipe, tmp_path / "plain"), Path(by_kind["dies"]["run"])
    assert (died / "died").exists()
    assert "resumed from" in (died / "train.log").read_text()
    assert lines(died) == lines(plain)
    states = [read_state_dict(run / "weights/last.safetensors") for run in (plain, died)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])

    assert told["best"] == by_kind["dies"]["number"]
    assert "chosen by its figures on the test set" in done.stderr
    assert by_kind["dies"]["metrics"]["mAP"] == lines(plain)[-1]["market1501/mAP"]


def test_an_interrupted_sweep_is_gone_on_with(tmp_path, recipe, local_ray, monkeypatch):
    from reid_plugin_ray.tuning.progress import Progress

    (tmp_path / "space.yaml").write_text("train.optimizer.lr: {loguniform: [1e-4, 1e-2]}")
    output = tmp_path / "sweep"
    words = ["tune", "--config", recipe, "--space", tmp_path / "space.yaml", "--output", output]
    words += ["--samples", 2, "--set", "train.epochs=1", "--concurrent", 1, "--cpus", 1]
    with monkeypatch.context() as patch:
        patch.setattr(
            Progress, "on_trial_complete", lambda *_, **__: signal.raise_signal(signal.SIGINT)
        )
        result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 130, result.output
    assert "interrupted by SIGINT" in result.output
    assert f"go on with: reid-ray tune --resume --output {output}" in result.output
    before = json.loads((output / "tune.json").read_text())["trials"]
    states = {trial["number"]: trial["state"] for trial in before}
    assert states.pop("00000") == "completed"
    assert set(states.values()) <= {"unfinished"}
    first = output / "runs/trial_00000/status.json"
    status = first.read_text()

    result = CliRunner().invoke(main, ["tune", "--resume", "--output", str(output)])
    assert result.exit_code == 0, result.output
    told = json.loads((output / "tune.json").read_text())
    assert [trial["state"] for trial in told["trials"]] == ["completed", "completed"]
    assert first.read_text() == status
    best = next(trial for trial in told["trials"] if trial["number"] == told["best"])
    assert best["metrics"]["mAP"] == max(trial["metrics"]["mAP"] for trial in told["trials"])
    recipe_of_best = load_config(output / "best.yaml")
    assert recipe_of_best.train.optimizer.lr == best["values"]["train.optimizer.lr"]
    assert recipe_of_best.train.epochs == 1
