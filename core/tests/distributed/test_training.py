"""Two processes train as one does: real processes, gloo, started once by torchrun."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reid_core.testing import write_tiny_market

SCRIPT = Path(__file__).with_name("training_script.py")
#: Runs that both do alike, without and with batch statistics.
PLAIN = ("sgd", "adam", "clipped", "chunks", "frozen", "unused")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What the first of two processes found."""
    folder = tmp_path_factory.mktemp("two")
    write_tiny_market(folder / "data")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", str(SCRIPT), str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("name", PLAIN)
def test_weights_of_two_processes_are_those_of_one_after_20_steps(report, name):
    figures = report["figures"][name]
    assert figures["steps"] == 20
    assert figures["moved"] > 0.05, "a run that learns nothing would be equal in any case"
    assert figures["weights"] < 1e-5


def test_with_synchronised_statistics_they_are_equal_within_float32(report):
    figures = report["figures"]["sync_bn"]
    assert figures["weights"] < 1e-3
    assert figures["moved"] > 0.05


@pytest.mark.parametrize("name", [*PLAIN, "sync_bn"])
def test_logged_rows_and_augmented_images_are_those_of_one_process(report, name):
    figures = report["figures"][name]
    # Bit by bit, with erased rectangles and with patches out of the other process' images.
    assert figures["images"] is True
    # Losses, accuracy, what a gathered loss saw, figures of the evaluation.
    assert figures["keys"] is True
    assert figures["rows"] < 1e-5


def test_both_processes_have_the_same_weights_and_figures(report):
    assert report["equal_weights"] is True
    first, second = report["metrics"]
    assert first == second
    assert first["market1501"].keys() >= {"mAP", "rank1"}


def test_hooks_that_watch_or_write_are_in_the_first_process_only(report):
    first, second = report["observers"]
    assert [key for key in first if key not in second] == ["status", "metric_log", "console"]
    assert "evaluation" in second
    assert "checkpoint" in second


# B108: all processes take the same path.
def test_a_reason_of_one_process_stops_both_after_the_same_step(report):
    assert report["stopped_after"] == [10, 10]


def test_a_signal_to_one_process_ends_both_after_the_same_step(report):
    told = "Interrupted: interrupted by SIGTERM"
    assert report["interrupted"] == [told, "4", told, "4"]


def test_a_resumed_run_in_chunks_is_bitwise_too_where_a_loss_reads_its_buffers(report):
    assert report["resumed_in_chunks"] is True


def test_a_resumed_run_of_two_is_bitwise_the_one_that_was_not_stopped(report):
    assert report["resumed"] == [True, True]
    assert report["ranks_draw_differently"] is True


def test_another_number_of_processes_goes_on_and_says_so_once(report):
    (line,) = report["resumed_alone"]
    assert line == (
        "resume: the checkpoint is of 2 processes, now there are 1: batches and augmentation are "
        "the same, dropout and other random draws of the model are not, and sums are rounded in "
        "another order"
    )


# B110: unused parameters are named, in both processes.
def test_parameters_without_gradient_are_named_with_the_setting_that_allows_them(report):
    assert len(report["lacking"]) == 2
    for message in report["lacking"]:
        assert message == (
            "TrainingError: 2 parameters got no gradient in this step, and several processes wait "
            "for it: head.unused.weight, head.unused.bias; leave what the losses do not use out "
            "of the model, freeze it, or --set train.distributed.find_unused_parameters=true"
        )


def test_a_loss_with_a_memory_is_refused_without_gather(report):
    for message in report["refused"]:
        assert message == (
            "ConfigError: model.losses: remembering must see the batches of all processes (its "
            "class says needs_gather); expected gather: true beside its name"
        )


def test_a_batch_that_cannot_be_dealt_is_told_before_training(report):
    for message in report["uneven"]:
        assert message == (
            "ConfigError: a batch of 5 identities x 2 images cannot be dealt to 2 processes "
            "evenly; make it 4 or 6 (data.batch.identities)"
        )


def test_gradients_are_averaged_and_a_missing_one_counts_as_zero(report):
    assert report["averaged"] == [[[1.5, 1.5], [2.0, 2.0], None]] * 2
