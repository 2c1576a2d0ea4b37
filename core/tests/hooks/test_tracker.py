from __future__ import annotations

import json
import logging
import threading

import pytest

from reid_core.errors import ConfigError
from reid_core.hooks import tracker as tracker_module
from reid_core.hooks.tracker import Tracker
from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import PlannedError, TinyRun, TinyTrainer


class Kept(Tracker):
    """Keeps what it is given; fails, or waits, in the method that it is told."""

    def __init__(self, *, fails_in="", waits_in="", gate=None, **parameters):
        super().__init__(**parameters)
        self.calls, self.rows = [], []
        self._fails_in, self._waits_in, self._gate = fails_in, waits_in, gate

    def _do(self, method, *facts):
        self.calls.append((method, *facts))
        if method == self._fails_in:
            raise ConnectionError("no route to host")
        if method == self._waits_in:
            self._gate.wait()

    def import_library(self):
        self._do("import_library", threading.current_thread() is threading.main_thread())

    def start(self, run):
        self.run = run
        self._do("start")
        return run.run_id or f"id of {run.name}"

    def log(self, step, scalars):
        self.rows.append((step, scalars))
        self._do("log", step)

    def log_artifact(self, path, kind):
        self._do("log_artifact", kind, path.name)

    def end(self, status, summary):
        self.summary = summary
        self._do("end", status)


class StopAt:
    def __init__(self, steps, signum=None):
        self._steps, self._signum = steps, signum

    @hookimpl
    def after_step(self, trainer, step):
        if step + 1 == self._steps:
            trainer.request_stop(self._signum)


@pytest.fixture
def gate():
    """What a hanging call waits for; opened at the end, so that no thread outlives the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def tiny(tmp_path):
    def make(tracker, *others, fails_at=None, **settings):
        plain = {key.replace("__", "."): value for key, value in settings.items()}
        # Only some tests look at evaluations, which take most of the time of such a run.
        plain = {"evaluate.every": 0, **plain}
        trainer = TinyTrainer(TinyRun(settings=plain).config(tmp_path), fails_at=fails_at)
        trainer.hooks.add(tracker, id="kept")
        trainer.register_hooks(list(others))
        return trainer

    return make


def warnings(caplog):
    records = [r for r in caplog.records if "tracker" in r.message or "hook 'kept'" in r.message]
    return [record.message for record in records if record.levelno >= logging.WARNING]


def test_a_tracker_gets_a_run_from_its_beginning_to_its_end(tiny, tmp_path):
    kept = Kept(artifacts=["config", "report", "weights"])
    trainer = tiny(kept, evaluate__every=1)
    trainer.train()
    kinds = ("import_library", "start", "log_artifact", "end")
    assert [call for call in kept.calls if call[0] in kinds] == [
        ("import_library", True),
        ("start",),
        ("log_artifact", "config", "config.yaml"),
        ("log_artifact", "report", "report.html"),
        ("log_artifact", "weights", "best.safetensors"),
        ("end", "completed"),
    ]
    best = trainer.results.best
    name = f"best/{best.dataset}/mAP"
    assert kept.summary == {name: best.value, "best/step": float(best.step)}


def test_rows_have_the_usual_tags_and_are_those_of_the_log(tiny, tmp_path):
    kept = Kept()
    trainer = tiny(kept, evaluate__every=1)
    trainer.train()
    assert [step for step, _ in kept.rows] == [2, 4, 4, 6, 8, 8]
    (name,) = {evaluator.name for evaluator in trainer.evaluators}
    tags = set().union(*(row for _, row in kept.rows))
    assert {"train/loss", "lr", "time/step", "epoch", f"val/{name}/mAP"} <= tags
    logged = (tmp_path / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    for (step, row), line in zip(kept.rows, map(json.loads, logged), strict=True):
        assert (step, row["epoch"]) == (line["step"], line["epoch"])
        assert sorted(value for tag, value in row.items() if tag != "epoch") == sorted(
            value for key, value in line.items() if key not in ("step", "epoch")
        )


def test_a_tracker_is_told_what_the_run_is(tiny, tmp_path):
    kept = Kept()
    trainer = tiny(kept, train__epochs=1)
    trainer.train()
    run = kept.run
    assert run.name == f"{trainer.config.name}/run"
    assert run.folder == tmp_path / "run"
    assert run.config == trainer.config.plain()
    assert run.tags[0] == run.recipe == trainer.config.name
    assert any(one.startswith("sampler identity (reid-core ") for one in run.components)
    assert "torch" in run.environment
    assert "command" not in run.environment, "a command line may hold a secret"
    assert "command" in json.loads((tmp_path / "run/env.json").read_text(encoding="utf-8"))
    assert (run.first_step, run.run_id) == (0, None)


def test_secrets_are_not_told_and_files_that_hold_them_not_handed_over(tiny, monkeypatch, caplog):
    kept = Kept(artifacts=["config"])
    trainer = tiny(kept, train__epochs=1)
    plain = {**trainer.config.plain(), "api_key": "abc"}
    monkeypatch.setattr(type(trainer.config), "plain", lambda self: plain)
    trainer.train()
    assert "api_key" not in kept.run.config
    assert not [call for call in kept.calls if call[0] == "log_artifact"]
    (warning,) = warnings(caplog)
    assert "Kept is given no files" in warning
    assert "holds what looks like a secret" in warning


@pytest.mark.parametrize("method", ["import_library", "start", "log", "log_artifact", "end"])
def test_a_tracker_that_fails_never_stops_a_run(method, tiny, caplog):
    kept = Kept(fails_in=method, artifacts=["report"])
    assert tiny(kept, train__epochs=1).train().status == "completed"
    (warning,) = warnings(caplog)
    assert "hook 'kept'" in warning
    assert "switched off; the run goes on without it: ConnectionError: no route to host" in warning
    assert kept.calls[-1][0] == method, "it is left alone from then on"


def test_a_tracker_that_hangs_never_holds_a_run(tiny, gate, caplog, monkeypatch):
    monkeypatch.setattr(tracker_module, "_START_SECONDS", 0.0)
    kept = Kept(waits_in="start", gate=gate, wait_seconds=0)
    assert tiny(kept, train__epochs=1).train().status == "completed"
    (warning,) = warnings(caplog)
    assert "tracker Kept: not all was sent within 0 s (wait_seconds); " in warning
    assert "calls are given up, because its record has not even begun: no answer" in warning
    assert kept.rows == []


def test_rows_are_dropped_when_a_tracker_is_too_slow_and_the_end_says_how_many(tiny, gate, caplog):
    kept = Kept(waits_in="log", gate=gate)
    kept.capacity = 2
    opener = type("Opener", (), {"after_train": hookimpl(lambda self: gate.set())})()
    tiny(kept, opener, train__log_every=1).train()
    first, last = warnings(caplog)
    assert "tracker Kept is slower than the run: 2 rows wait, and rows are dropped" in first
    dropped = 8 - len(kept.rows)
    assert dropped >= 5
    assert f"tracker Kept was slower than the run: {dropped} rows were dropped" in last
    assert kept.calls[-1] == ("end", "completed")


@pytest.mark.parametrize(("fails_at", "called"), [(3, True), (-1, False)])
def test_a_run_that_fails_is_ended_as_failed(tiny, fails_at, called):
    kept = Kept()
    with pytest.raises(PlannedError):
        tiny(kept, fails_at=fails_at).train()
    if called:
        assert kept.calls[-1] == ("end", "failed")


def test_a_resumed_run_goes_on_with_the_same_record(tiny):
    first = Kept()
    with pytest.raises(Exception, match="interrupted by SIGTERM"):
        tiny(first, StopAt(5, 15)).train()
    assert first.calls[-1] == ("end", "interrupted")
    second = Kept()
    trainer = tiny(second)
    trainer.resume_or_load("auto")
    trainer.train()
    assert second.run.run_id == f"id of {first.run.name}"
    assert second.run.first_step == 5
    assert [step for step, _ in second.rows] == [6, 8]


def test_a_run_that_goes_on_in_another_folder_gets_a_record_of_its_own(tiny, tmp_path):
    tiny(Kept()).train()
    kept = Kept()
    trainer = tiny(kept, output=str(tmp_path / "branch"), train__epochs=3)
    trainer.resume_or_load(tmp_path / "run", changes="use")
    trainer.train()
    assert kept.run.run_id is None
    assert kept.state_dict() == {"run_id": f"id of {trainer.config.name}/branch"}


def test_wrong_parameters_are_refused():
    with pytest.raises(ConfigError, match="hook Kept: artifacts holds 'video'; expected config, "):
        Kept(artifacts=["video"])
    with pytest.raises(ConfigError, match="hook Kept: wait_seconds is -1; expected 0 or more"):
        Kept(wait_seconds=-1)
