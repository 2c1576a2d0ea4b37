import json
import multiprocessing
import os

import torch

from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_core.testing.two_processes import run_in_two_processes


def test_two_ranks_share_a_run_and_end_with_the_same_model(tmp_path) -> None:
    one, two = run_in_two_processes(TinyRun(), tmp_path, timeout_seconds=120)
    for report in (one, two):
        assert report is not None
        assert (report.error, report.status, report.steps) == ("", "completed", 8)
    untrained = TinyTrainer(TinyRun(settings={"output": str(tmp_path / "new")}).config(tmp_path))
    for name, value in untrained.model.state_dict().items():
        assert torch.equal(one.weights[name], two.weights[name]), name
        assert not torch.equal(one.weights[name], value), f"{name} was not trained"
    rows = (tmp_path / "run/metrics.jsonl").read_text().splitlines()
    steps = [json.loads(row)["step"] for row in rows if '"loss"' in row]
    assert steps == [2, 4, 6, 8], "one of them writes"


def test_the_variables_of_torchrun_are_set_there_and_not_here(tmp_path) -> None:
    reports = run_in_two_processes(TinyRun(hook="reid-core/none"), tmp_path, timeout_seconds=120)
    for report in reports:
        assert report is not None
        assert "unknown hook 'reid-core/none'" in report.error
    assert "WORLD_SIZE" not in os.environ


def test_whoever_is_late_is_ended(tmp_path) -> None:
    before = set(multiprocessing.active_children())
    assert run_in_two_processes(TinyRun(), tmp_path, timeout_seconds=0) == [None, None]
    assert set(multiprocessing.active_children()) == before
