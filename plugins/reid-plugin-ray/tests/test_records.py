"""What became of the trials, and which of them is best."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from reid_plugin_ray.tuning.printed import NOTE, print_table, write_records
from reid_plugin_ray.tuning.records import TrialRecord, best_of, records_of
from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.sweep import SweepEnd

REQUEST = SweepRequest(
    source="osnet/osnet_x0_25",
    settings=(),
    config={},
    space={"train.optimizer.lr": {"uniform": [0.1, 0.2]}},
    metric="mAP",
    mode="max",
    samples=3,
    seed=0,
    scheduler="asha",
    grace=1,
    concurrent=None,
    cpus=1,
    gpus=0,
    folder="/",
    restarts=0,
)


def record(number, value, state="completed", error=""):
    metrics = {} if value is None else {"mAP": value, "epoch": 2.0, "loss": value}
    return TrialRecord(number, state, {"train.optimizer.lr": 0.125}, metrics, "/r", error)


def result(path, *, metrics=None, error=None):
    return SimpleNamespace(path=str(path), metrics=metrics, config={"seed": 1}, error=error)


def test_the_best_is_the_first_of_the_highest():
    records = [record("0", 0.5), record("1", 0.7), record("2", 0.7)]
    assert best_of(records, REQUEST).number == "1"


def test_less_is_better_where_that_was_asked_for():
    from dataclasses import replace

    loss = replace(REQUEST, metric="loss", mode="min")
    assert best_of([record("0", 0.5), record("1", 0.7)], loss).number == "0"


def test_failed_trials_and_those_without_a_number_are_not_the_best():
    records = [record("0", 0.9, "failed"), record("1", None), record("2", float("nan"))]
    assert best_of(records, REQUEST) is None
    assert best_of([*records, record("3", 0.1, "stopped")], REQUEST).number == "3"


@pytest.fixture
def run(tmp_path):
    """Make the run folder of a trial with a status."""

    def make(number, state=None, error=None):
        folder = tmp_path / "runs" / f"trial_{number}"
        folder.mkdir(parents=True)
        if state:
            (folder / "status.json").write_text(json.dumps({"state": state}))
        if error:
            (folder / "trial_error.txt").write_text(error)
        return folder

    return make


def records(tmp_path, *results, signum=None):
    return records_of(REQUEST, tmp_path, SweepEnd(list(results), signum))


def test_a_run_whose_process_a_scheduler_ended_is_marked_as_stopped(tmp_path, run):
    folder = run("00000", "running")
    (one,) = records(tmp_path, result("/x/ab_00000", metrics={"epoch": 1, "step": 4, "mAP": 0.5}))
    assert one.state == "stopped"
    assert one.metrics == {"epoch": 1, "step": 4, "mAP": 0.5}
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["step"]) == ("stopped", 4)
    assert status["reason"] == "ended by the scheduler of the sweep after epoch 1"


def test_a_run_of_an_interrupted_sweep_is_unfinished_and_its_status_is_left(tmp_path, run):
    folder = run("00000", "running")
    (one,) = records(tmp_path, result("/x/ab_00000"), signum=2)
    assert one.state == "unfinished"
    assert json.loads((folder / "status.json").read_text()) == {"state": "running"}


def test_a_failed_trial_says_why_in_its_own_words(tmp_path, run):
    run("00000", "failed", "TrainingError: the loss is not finite")
    run("00001")
    first, second = records(
        tmp_path,
        result("/x/ab_00001", error=RuntimeError("Actor x\ndied (exit code -9).")),
        result("/x/ab_00000", error=RuntimeError("ray traceback")),
    )
    assert (first.number, first.state) == ("00000", "failed")
    assert first.error == "TrainingError: the loss is not finite"
    assert second.error == "died (exit code -9)."


def test_other_numbers_that_ray_reports_are_left_out(tmp_path, run):
    run("00000", "completed")
    metrics = {"mAP": 0.5, "market1501/mAP": 0.5, "pid": 3, "time_total_s": 1.0, "done": True}
    (one,) = records(tmp_path, result("/x/ab_00000", metrics=metrics))
    assert one.metrics == {"mAP": 0.5, "market1501/mAP": 0.5}
    assert one.state == "completed"


def test_the_table_has_the_best_first_and_errors_last():
    text = io.StringIO()
    rows = [
        record("0", 0.5),
        record("1", None, "failed", "OutOfMemoryError: of 16 GiB\nmore"),
        record("2", 0.75, "stopped"),
    ]
    print_table(REQUEST, rows, Console(file=text, width=160))
    lines = [line.split() for line in text.getvalue().splitlines() if line.strip()]
    assert lines[0] == ["trial", "state", "epoch", "mAP", "train.optimizer.lr", "error"]
    assert lines[2:] == [
        ["2", "stopped", "2", "0.7500", "0.125"],
        ["0", "completed", "2", "0.5000", "0.125"],
        ["1", "failed", "0.125", "OutOfMemoryError:", "of", "16", "GiB"],
    ]


def test_the_file_says_what_was_compared_and_by_which_data(tmp_path):
    path = tmp_path / "tune.json"
    write_records(path, REQUEST, [record("0", 0.5)], record("0", 0.5))
    plain = json.loads(path.read_text())
    assert plain["schema"] == 1
    assert (plain["metric"], plain["best"], plain["num_trials"]) == ("mAP", "0", 3)
    assert plain["trials"][0]["values"] == {"train.optimizer.lr": 0.125}
    assert plain["note"] == NOTE
    assert "reid-data split SOURCE -o mine.csv --val" in NOTE
