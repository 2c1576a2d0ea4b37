"""When checkpoints are written, what is kept, and what a disk that fails does to a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from reid_core.checkpoint.artifact import read_info
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted
from reid_core.errors import CheckpointError, ConfigError
from reid_core.hooks.checkpoint import Checkpoint
from reid_core.hookspecs import hookimpl


class Seen:
    """Notes when a checkpoint is reported, and stops the run after a step if asked to."""

    def __init__(self, stop=None):
        self.saved, self.stop = [], stop

    @hookimpl
    def after_step(self, trainer, step):
        if step + 1 == self.stop:
            trainer.request_stop(15)

    @hookimpl
    def after_checkpoint(self, trainer, path, step):
        assert torch.load(path, weights_only=True)["step"] == step
        self.saved.append(step)


def config_of(recipe, tmp_path, hook=None, **settings):
    plain = {key.replace("__", "."): value for key, value in settings.items()}
    plain = {"output": str(tmp_path / "run"), "evaluate.every": 0, **plain}
    hooks = ["lr_schedule", {"name": "checkpoint", **(hook or {})}, "evaluation", "metric_log"]
    return load_config(recipe, {**plain, "default_hooks": hooks})


def trained(config, *hooks, resume=None, trainer=DefaultTrainer):
    made = trainer(config)
    made.resume_or_load(resume)
    made.register_hooks(hooks)
    made.train()
    return made


def kept(trainer):
    return [int(path.stem[5:]) for path in reversed(trainer.folder.checkpoints.paths())]


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ({}, [4, 8, 12, 16]),
        ({"every": 3}, [12, 16]),
        ({"every": None}, [16]),
        ({"every": None, "every_steps": 5}, [5, 10, 15, 16]),
        # The 8th step ends an epoch: it is saved behind it.
        ({"every": 2, "every_steps": 8}, [8, 16]),
        ({"every": 2, "every_steps": 3}, [3, 6, 8, 9, 12, 15, 16]),
    ],
)
def test_epochs_and_steps_say_when(tiny_recipe, tmp_path, hook, expected):
    seen = Seen()
    trainer = trained(config_of(tiny_recipe, tmp_path, {**hook, "keep": 9}), seen)
    assert kept(trainer) == expected
    assert seen.saved == expected, "each is told once, in order"


def test_minutes_are_those_of_a_clock_that_nobody_sets(tiny_recipe, tmp_path, monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr("reid_core.hooks.checkpoint.time.monotonic", lambda: seconds[0])
    # The clock on the wall jumps by a day each time it is read.
    days = iter(range(10**6))
    monkeypatch.setattr("time.time", lambda: 86400.0 * next(days))

    class Slow:
        @hookimpl
        def before_step(self, step):
            seconds[0] += 61 if step in (1, 2, 9) else 2

    hook = {"every": None, "every_minutes": 1.0, "keep": 9}
    assert kept(trained(config_of(tiny_recipe, tmp_path, hook), Slow())) == [2, 3, 10, 16]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"every": 0}, "every is 0; expected at least 1"),
        ({"every_steps": 0}, "every_steps is 0; expected at least 1"),
        ({"every_minutes": 0}, "every_minutes is 0; expected more than 0"),
        ({"keep": 0}, "keep is 0; expected at least 1"),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Checkpoint(**parameters)


class Scored(DefaultTrainer):
    """A trainer whose evaluations give planned figures."""

    scores = (0.5, 0.9, 0.6, 0.7)

    def __init__(self, config):
        super().__init__(config)
        for evaluator in self.evaluators:
            measure = evaluator.evaluate

            def planned(*arguments, measure=measure):
                retrieval = measure(*arguments)
                figure = self.scores[(self.epoch if self.iter % 4 else self.iter // 4 - 1) % 4]
                for result in retrieval.results:
                    object.__setattr__(result, "mAP", figure)
                return retrieval

            evaluator.evaluate = planned


# B103
def test_the_best_epoch_stays_the_best_whatever_is_saved_and_after_a_resume(tiny_recipe, tmp_path):
    config = config_of(tiny_recipe, tmp_path, {"every": 2}, evaluate__every=1)
    with pytest.raises(Interrupted):
        trained(config, Seen(stop=9), trainer=Scored)
    trainer = trained(config, resume="auto", trainer=Scored)
    assert [e.metrics["mAP"] for e in trainer.results.evaluations] == list(Scored.scores)
    folder = trainer.folder.path
    state = torch.load(folder / "checkpoints" / "best.pt", weights_only=True)
    best = state["results"]["best"]
    assert (best["value"], best["step"], state["epoch"]) == (0.9, 8, 2)
    info = read_info(folder / "weights" / "best.safetensors")
    assert (info["epoch"], info["metrics"]["market1501"]["mAP"]) == (2, 0.9)
    assert trainer.results.best.step == 8
    assert read_info(folder / "weights" / "last.safetensors")["step"] == 16


def test_a_best_epoch_that_is_not_to_be_saved_is_saved_as_the_best_alone(tiny_recipe, tmp_path):
    class Early(Scored):
        scores = (0.9, 0.5, 0.6, 0.7)

    config = config_of(tiny_recipe, tmp_path, {"every": 2}, evaluate__every=1)
    trainer = trained(config, trainer=Early)
    assert kept(trainer) == [8, 16]
    best = torch.load(trainer.folder.path / "checkpoints" / "best.pt", weights_only=True)
    assert best["step"] == 4


# B104
def test_at_the_end_there_are_the_best_and_the_last_two(tiny_recipe, tmp_path):
    config = config_of(tiny_recipe, tmp_path, evaluate__every=5, train__epochs=10)
    trainer = trained(config)
    names = sorted(path.name for path in (trainer.folder.path / "checkpoints").iterdir())
    assert names == ["best.pt", "step_00000036.pt", "step_00000040.pt"]


def test_training_goes_on_while_a_checkpoint_is_written(tiny_recipe, tmp_path, monkeypatch):
    """The writer waits for a step that would never come if training waited for the writer."""
    from reid_core.checkpoint.folder import CheckpointFolder

    reached, save = threading.Event(), CheckpointFolder.save

    def slow(self, state, step, *, same_as=None):
        assert reached.wait(60), "training stood still"
        return save(self, state, step, same_as=same_as)

    class Goes:
        @hookimpl
        def after_step(self, step):
            if step == 6:
                reached.set()

    monkeypatch.setattr(CheckpointFolder, "save", slow)
    seen = Seen()
    trainer = trained(config_of(tiny_recipe, tmp_path, {"every": 1, "keep": 9}), seen, Goes())
    assert seen.saved == kept(trainer) == [4, 8, 12, 16]
    # What was written is the state after its own step, not what the weights were by then.
    states = [torch.load(p, weights_only=True) for p in trainer.folder.checkpoints.paths()]
    biases = [state["model"]["head.classifier.bias"].tolist() for state in states]
    assert len({tuple(bias) for bias in biases}) == 4
    monkeypatch.undo()
    config = config_of(tiny_recipe, tmp_path, {"keep": 9}, output=str(tmp_path / "plain"))
    plain = trained(config)
    for path, state in zip(plain.folder.checkpoints.paths(), states, strict=True):
        expected = torch.load(path, weights_only=True)["model"]
        assert all(torch.equal(value, state["model"][key]) for key, value in expected.items())


class Disk:
    """Writes that fail while it is full."""

    def __init__(self, monkeypatch, full_from, full_to=10**6):
        from reid_core.checkpoint import folder

        write = folder.write_atomically

        def maybe(path, content):
            if full_from <= int(path.stem[5:]) < full_to:
                raise OSError(28, "No space left on device")
            write(path, content)

        monkeypatch.setattr(folder, "write_atomically", maybe)


def test_a_disk_that_is_full_for_a_while_costs_a_checkpoint_and_not_the_run(
    tiny_recipe, tmp_path, monkeypatch, caplog
):
    Disk(monkeypatch, full_from=8, full_to=16)
    trainer = trained(config_of(tiny_recipe, tmp_path))
    assert kept(trainer) == [4, 16]
    told = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert len(told) == 2
    assert "step_00000008.pt cannot be written: No space left on device" in told[0]
    assert "training goes on and tries again; until then there is" in told[0]
    assert told[0].endswith("step_00000004.pt")


def test_a_disk_that_stays_full_ends_the_run_with_an_error_and_the_earlier_ones_whole(
    tiny_recipe, tmp_path, monkeypatch
):
    Disk(monkeypatch, full_from=8)
    trainer = DefaultTrainer(config_of(tiny_recipe, tmp_path))
    with pytest.raises(CheckpointError, match=r"step_00000016.pt cannot be written: No space left"):
        trainer.train()
    assert trainer.iter == 16
    assert kept(trainer) == [4]
    status = json.loads((trainer.folder.path / "status.json").read_text())
    assert (status["state"], "No space left" in status["reason"]) == ("failed", True)
    monkeypatch.undo()
    resumed = trained(config_of(tiny_recipe, tmp_path), resume="auto")
    assert kept(resumed) == [12, 16]


def test_a_first_checkpoint_that_cannot_be_written_ends_the_run_at_once(
    tiny_recipe, tmp_path, monkeypatch
):
    Disk(monkeypatch, full_from=0)
    trainer = DefaultTrainer(config_of(tiny_recipe, tmp_path))
    with pytest.raises(CheckpointError, match=r"step_00000004.pt cannot be written"):
        trainer.train()
    assert trainer.iter <= 8, "by the next checkpoint at the latest"


def test_what_a_killed_process_left_half_written_is_removed(tiny_recipe, tmp_path):
    folder = tmp_path / "run" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / ".step_00000004.pt.01234567.tmp").write_bytes(b"half")
    trainer = trained(config_of(tiny_recipe, tmp_path, train__epochs=1), resume="auto")
    assert not list(trainer.folder.path.rglob("*.tmp"))


QUOTA = """
import json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
from conftest import TinyBackbone, TinyHead, TinyLoss
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.errors import CheckpointError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES

BACKBONES.register(TinyBackbone, name="tiny_backbone")
HEADS.register(TinyHead, name="tiny_head")
LOSSES.register(TinyLoss, name="tiny_loss")

class Quota:
    @hookimpl
    def before_epoch(self, trainer, epoch):
        dict(trainer.hooks.items())["checkpoint"].wait(trainer)
        if epoch == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))

trainer = DefaultTrainer(load_config(sys.argv[2], json.loads(sys.argv[3])))
trainer.register_hooks([Quota()])
try:
    trainer.train()
except CheckpointError as error:
    sys.exit(f"told: {error}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX")
def test_a_real_limit_of_the_system_leaves_earlier_checkpoints_whole(tiny_recipe, tmp_path):
    settings = {
        "output": str(tmp_path / "run"),
        "evaluate.every": 0,
        "train.epochs": 3,
        "default_hooks": ["checkpoint", "metric_log"],
    }
    tests = Path(__file__).resolve().parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", QUOTA, str(tests), str(tiny_recipe), json.dumps(settings)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert ended.returncode == 1
    assert "told: checkpoint" in ended.stderr
    assert "File too large" in ended.stderr
    names = [path.name for path in (tmp_path / "run").rglob("*.pt*")]
    assert names == ["step_00000004.pt"]
    path = tmp_path / "run" / "checkpoints" / names[0]
    assert torch.load(path, weights_only=True)["step"] == 4
    assert not list((tmp_path / "run").rglob("*.tmp"))
