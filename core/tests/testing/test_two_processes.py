import multiprocessing
import os

import torch

from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_core.testing.two_processes import run_in_two_processes


def test_two_ranks_train_as_one_process_does(tmp_path) -> None:
    one, two = run_in_two_processes(TinyRun(), tmp_path, timeout_seconds=120)
    (tmp_path / "here").mkdir()
    trainer = TinyTrainer(TinyRun().config(tmp_path / "here"))
    trainer.train()
    for report in (one, two):
        assert report is not None
        assert (report.error, report.status, report.steps) == ("", "completed", 8)
        # One thread there, any number here: sums may be added up in another order.
        torch.testing.assert_close(
            report.weights, dict(trainer.model.state_dict()), rtol=1e-3, atol=1e-5
        )


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
