"""Real runs in several processes that fail, are stopped, and are started again."""

import json
import os
import subprocess
import sys

import pytest
import torch

from reid_core.checkpoint.folder import load_checkpoint


# B108: an exception ends all within seconds with its text, also without a launcher that kills.
@pytest.mark.parametrize("name", ["raise", "stuck"])
def test_all_processes_end_with_the_first_error(ended, name):
    first, second = ended[name].texts
    assert ended[name].codes == [3, 3]
    assert second.splitlines()[0] == "error: the disk is full"
    assert "raised by hook 'faulty'" in second
    assert first.splitlines()[-1] == "error: process 1 failed: the disk is full"
    assert first.count("the disk is full") == 1
    assert "Traceback" not in first + second


@pytest.mark.parametrize(("name", "step"), [("raise", 8), ("stuck", 7)])
def test_the_status_says_which_process_failed_and_why(ended, name, step):
    status = ended[name].status
    assert (status["state"], status["step"]) == ("failed", step)
    assert status["reason"] == "process 1 failed: the disk is full"
    assert (status["process"], status["exit_code"]) == (1, 3)


# B108: one process is busy for a while, and the others wait.
def test_a_process_that_is_late_is_waited_for(ended):
    assert ended["undisturbed"].codes == [0, 0]
    assert ended["undisturbed"].status["state"] == "completed"


def test_a_signal_to_one_process_ends_all_after_the_same_step_with_a_checkpoint(ended):
    job = ended["terminate"]
    assert job.codes == [143, 143]
    assert job.status["reason"] == "interrupted by SIGTERM"
    assert job.state(8)["step"] == 8
    assert job.texts[0].splitlines()[-2] == "error: interrupted by SIGTERM"
    assert "SIGTERM, sent to another process: saving" in job.texts[0]
    assert "finishing the step" not in job.texts[1]


def test_a_mistake_that_all_processes_make_is_told_once(ended):
    first, second = ended["wrong"].texts
    assert ended["wrong"].codes == [2, 2]
    assert "train.epochs" in first
    assert second == ""


def test_a_job_that_torchrun_starts_again_ends_as_if_it_had_not_been_killed(
    ended, command_line, tmp_path, tiny_market
):
    arguments = command_line(tmp_path, tiny_market)
    launch = ("--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
    module = ("-m", "reid_core.cli.train", *arguments)
    launched = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *launch, *module],
        env={**os.environ, "OMP_NUM_THREADS": "1", "FAULT": "kill"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert launched.returncode == 0, launched.stderr[-3000:]
    (folder,) = (tmp_path / "runs" / "tiny").iterdir()
    assert (folder / "killed_once").exists()
    assert f"start 2 of this job: going on in {folder}" in launched.stderr
    assert "is gone: it was killed" in launched.stderr
    assert f"resumed from {folder / 'checkpoints' / 'step_00000006.pt'}" in launched.stderr
    state = load_checkpoint(folder / "checkpoints" / "step_00000012.pt")
    wanted = ended["undisturbed"].state()
    for key, value in wanted["model"].items():
        assert torch.equal(state["model"][key], value), key
    assert state["results"] == wanted["results"]
    rows = [json.loads(row) for row in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 6, 8, 10, 12]
