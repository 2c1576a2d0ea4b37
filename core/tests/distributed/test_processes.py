"""Evaluation on several processes: each image counts once, and figures are those of one process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core.distributed.join import joined_processes
from reid_core.distributed.processes import ALONE, Processes
from reid_core.errors import DataError, TrainingError, UsageError
from reid_core.testing import write_tiny_market

SCRIPT = Path(__file__).with_name("rank_script.py")


def run_ranks(count, folder):
    """Run the script in processes of a real gloo group; return the report of each."""
    market = write_tiny_market(folder / "market", test_identities=2, train_identities=1, shots=3)
    sorted((market / "bounding_box_test").iterdir())[2].write_bytes(b"no image")
    launched = subprocess.run(
        [
            sys.executable,
            *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)),
            *(str(SCRIPT), str(folder)),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert launched.returncode == 0, launched.stderr[-3000:]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(count)]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    return run_ranks(3, tmp_path_factory.mktemp("ranks"))


# B061: 10 samples on 3 ranks are 10, not 12, in the order of the data set.
def test_ten_samples_are_gathered_once_and_in_order(reports):
    for report in reports:
        assert report["ten"] == [[float(row)] for row in range(10)]


# B061: the pad of 3 queries on 2 ranks would give 0.5.
def test_three_queries_have_the_mean_of_three(reports):
    found = [report["of_two"] for report in reports[:2]] + [one["precisions"] for one in reports]
    for precisions in found:
        assert precisions == [[1.0], [0.0], [0.0]]
        assert np.mean(precisions) == pytest.approx(0.333333, abs=1e-6)


def test_a_process_without_images_takes_part(reports):
    assert [report["few"] for report in reports] == [[[1, 0], [0, 1]]] * len(reports)


# B061 from images to figures, bit by bit, broken images and views included.
def test_figures_and_embeddings_are_exactly_those_of_one_process(reports):
    for report in reports:
        assert report["together"] == report["alone"]
        assert report["together"] == reports[0]["together"]
        assert len(report["together"]["broken"]) == 1
        assert len(report["together"]["rows"]) == 11
        assert report["together"]["told"] == "mean of 2 views: image, mirrored"


def test_a_failure_of_one_process_ends_all_with_its_message(reports):
    told = [report["failed"] for report in reports]
    assert told.pop(1) == "DataError: the disk is full"
    expected = "LostExchangeError: the run failed in another process: process 1: the disk is full"
    assert told == [expected] * (len(reports) - 1)


def test_rows_of_two_processes_and_widths_that_differ_are_refused(reports):
    for report in reports:
        assert report["twice"] == (
            "DataError: 0 of 3 images came from no process and 3 from several; expected each from "
            "one"
        )
        assert "PluginError: the model gave embeddings of widths 1 and 2" in report["widths"]


def test_the_first_process_speaks_for_all_and_the_group_is_left(reports):
    assert [report["warns"] for report in reports] == [True] + [False] * (len(reports) - 1)
    assert all(report["is_over"] for report in reports)


def test_one_process_keeps_its_table_and_gathers_nothing():
    features = torch.rand(4, 3)
    assert ALONE.gather_rows(features, np.arange(4), 4) is features
    turned = ALONE.gather_rows(features, np.array([2, 0, 3, 1]), 4)
    assert torch.equal(turned[[2, 0, 3, 1]], features)
    assert ALONE.gather([1, 2]) == [1, 2]
    assert ALONE.is_first
    with pytest.raises(DataError, match="1 of 3 images came from no process and 0 from several"):
        ALONE.gather_rows(torch.rand(2, 3), np.array([0, 2]), 3)
    with pytest.raises(ValueError, match="as it is"), ALONE.together():
        raise ValueError("as it is")


def test_a_process_that_has_ended_is_told_and_own_failures_come_first(monkeypatch):
    def closed(*arguments, **options):
        raise RuntimeError("Connection closed by peer [127.0.0.1]\nat pair.cc:534")

    monkeypatch.setattr(torch.distributed, "all_gather_object", closed)
    monkeypatch.setattr(torch.distributed, "all_gather", closed)
    both = Processes(0, 2)
    words = (
        r"another process has ended, and what it wrote says why \(Connection closed by peer .*\]\)$"
    )
    with pytest.raises(TrainingError, match=words), both.together():
        pass
    with pytest.raises(TrainingError, match=words):
        both.gather_rows(torch.rand(1, 2), np.array([0]), 2)
    with pytest.raises(DataError, match="the disk is full"), both.together():
        raise DataError("the disk is full")


@pytest.mark.parametrize("count", [None, "1"])
def test_without_torchrun_there_is_one_process_and_no_group(monkeypatch, count):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    if count:
        monkeypatch.setenv("WORLD_SIZE", count)
    with joined_processes() as processes:
        assert processes == ALONE
        assert not torch.distributed.is_initialized()


@pytest.mark.parametrize(
    ("size", "rank", "words"),
    [
        ("2", None, "RANK is 'not set'.*torchrun --nproc-per-node N, or unset WORLD_SIZE"),
        ("two", "0", "WORLD_SIZE is 'two'"),
    ],
)
def test_an_environment_that_torchrun_would_not_leave_is_refused(monkeypatch, size, rank, words):
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.delenv("RANK", raising=False)
    if rank:
        monkeypatch.setenv("RANK", rank)
    with pytest.raises(UsageError, match=words), joined_processes():
        pass
