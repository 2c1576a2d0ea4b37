from __future__ import annotations

import json
import shutil

import pytest
import torch

from reid_core.checkpoint.artifact import write_weights
from reid_core.engine.reproducing.run_matching import compare_runs, hash_of_tensors, steps_to_repeat
from reid_core.errors import UsageError

ROWS = [
    {"step": 2, "epoch": 0.5, "loss": 1.5, "time/step": 0.1},
    {"step": 4, "epoch": 1.0, "loss": 1.25, "time/step": 0.1},
    {"step": 4, "epoch": 1.0, "market/mAP": 0.5},
    {"step": 4, "epoch": 1.0, "time/evaluation": 3.0},
    {"step": 6, "epoch": 1.5, "loss": None},
]


def evaluation(step, **metrics):
    return {"dataset": "market", "step": step, "metrics": metrics, "postprocessing": []}


def write_run(folder, *, rows=ROWS, state="completed", figures=(), step=6, weights=None, **info):
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "status.json").write_text(json.dumps({"state": state}))
    (folder / "results.json").write_text(json.dumps({"evaluations": list(figures)}))
    if weights is not None:
        write_weights(folder / "weights" / "last.safetensors", weights, {"step": step, **info})
    return folder


def tensors(value=1.0):
    return {"a": torch.tensor([1.0, value]), "b": torch.ones(2, 1, dtype=torch.bfloat16)}


@pytest.fixture
def run(tmp_path):
    return write_run(
        tmp_path / "run", figures=[evaluation(4, mAP=0.5, rank1=0.25)], weights=tensors()
    )


@pytest.fixture
def again(run, tmp_path):
    """An equal copy of the run."""
    return shutil.copytree(run, tmp_path / "again")


def changed_rows(folder, change):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    change(rows)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_equal_runs_are_equal_whatever_time_they_took(run, again):
    changed_rows(again, lambda rows: rows[0].update({"time/step": 9.0, "memory/peak": 5.0}))
    changed_rows(again, lambda rows: rows.pop(3))
    shutil.rmtree(again / "weights")
    write_weights(again / "weights" / "last.safetensors", tensors(), {"step": 6, "config": {}})
    result = compare_runs(run, again)
    assert result.is_equal
    assert result.lines() == [
        "reproduced: 4 rows of metrics up to step 6, 2 figures, the last weights are bitwise equal"
    ]
    assert result.plain()["equal"] is True


def test_the_first_number_that_differs_is_named(run, again):
    def change(rows):
        rows[1]["loss"] += 2**-50
        rows[2]["market/mAP"] = 0.75

    changed_rows(again, change)
    result = compare_runs(run, again)
    assert not result.is_equal
    assert (result.first.step, result.first.name, result.first.was) == (4, "loss", 1.25)
    assert result.lines()[1] == (
        "the first difference is at step 4: loss was 1.25, is 1.2500000000000009 (+8.88178e-16)"
    )
    assert "the last weights are bitwise equal" in result.lines()


@pytest.mark.parametrize(
    ("change", "step", "name"),
    [
        (lambda rows: rows[0].pop("loss"), 4, ""),
        (lambda rows: rows[0].update(extra=1.0), 2, "extra"),
        (lambda rows: rows[4].update(loss=1.0), 6, "loss"),
        (lambda rows: rows.pop(4), 6, ""),
        (lambda rows: rows.append({"step": 8, "loss": 1.0}), 8, ""),
        (lambda rows: rows[1].update(step=3), 3, ""),
        (lambda rows: rows[1].update(extra=None), 4, "extra"),
    ],
)
def test_rows_and_numbers_that_are_missing_or_more_are_differences(run, again, change, step, name):
    changed_rows(again, change)
    first = compare_runs(run, again).first
    assert (first.step, first.name) in {(step, name), (min(step, 2), name)}


def test_figures_that_differ_are_told_the_largest_first(run, again):
    figures = [evaluation(4, mAP=0.4, rank1=0.25 + 1e-9)]
    (again / "results.json").write_text(json.dumps({"evaluations": figures}))
    result = compare_runs(run, again)
    assert [one.metric for one in result.figures] == ["mAP", "rank1"]
    assert result.lines()[2:4] == [
        "market mAP after 4 steps was 50.0000%, is 40.0000% (-10.0000%)",
        "market rank1 after 4 steps was 25.0000%, is 25.0000% (+0.0000%)",
    ]
    (again / "results.json").unlink()
    assert "market mAP after 4 steps was 50.0000%, is missing" in compare_runs(run, again).lines()


def test_figures_after_reranking_are_others_than_plain_ones(tmp_path):
    plain, reranked = evaluation(4, mAP=0.5), {**evaluation(4, mAP=0.6), "postprocessing": ["k"]}
    first = write_run(tmp_path / "a", figures=[plain, reranked])
    second = write_run(tmp_path / "b", figures=[reranked, {**plain, "metrics": {"mAP": 0.7}}])
    (only,) = compare_runs(first, second).figures
    assert (only.metric, only.was, only.now) == ("mAP", 0.5, 0.7)


def test_weights_that_differ_are_told_with_the_tensor(run, again):
    write_weights(again / "weights" / "last.safetensors", tensors(1.5), {"step": 6})
    result = compare_runs(run, again)
    assert not result.is_equal
    assert (result.weights.largest, result.weights.tensor) == (0.5, "a")
    assert "the last weights differ by up to 0.5 (a)" in result.lines()
    write_weights(again / "weights" / "last.safetensors", {"a": torch.zeros(2)}, {"step": 6})
    assert "the last weights have other tensors" in compare_runs(run, again).lines()


def test_a_hash_covers_names_types_shapes_and_values(tmp_path):
    base = {"a": torch.zeros(4), "b": torch.ones(1)}
    variants = [
        base,
        {"a": torch.zeros(2, 2), "b": torch.ones(1)},
        {"a": torch.zeros(4), "c": torch.ones(1)},
        {"a": torch.zeros(4, dtype=torch.int32), "b": torch.ones(1)},
        {"a": -torch.zeros(4), "b": torch.ones(1)},
        {"a": torch.zeros(4), "b": torch.ones(())},
    ]
    hashes = []
    for number, state in enumerate(variants):
        write_weights(tmp_path / f"{number}.safetensors", state, {})
        hashes.append(hash_of_tensors(tmp_path / f"{number}.safetensors"))
    assert len(set(hashes)) == len(variants)
    write_weights(tmp_path / "same.safetensors", base, {"step": 1})
    assert hash_of_tensors(tmp_path / "same.safetensors") == hashes[0]


@pytest.mark.parametrize(
    ("state", "weights", "expected"),
    [
        ("completed", True, None),
        ("stopped", True, None),
        ("interrupted", True, 4),
        ("failed", False, 6),
        ("running", True, 4),
    ],
)
def test_a_run_that_did_not_end_is_repeated_as_far_as_it_went(tmp_path, state, weights, expected):
    state_dict = tensors() if weights else None
    run = write_run(tmp_path / "run", state=state, step=4, weights=state_dict)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 8, "lo')
    assert steps_to_repeat(run) == expected


def test_without_a_status_a_run_did_not_end(run):
    (run / "status.json").unlink()
    assert steps_to_repeat(run) == 6


def test_a_run_that_did_not_end_is_compared_up_to_there(tmp_path):
    figures = [evaluation(4, mAP=0.5), evaluation(8, mAP=0.75)]
    run = write_run(
        tmp_path / "run", state="interrupted", step=4, weights=tensors(), figures=figures
    )
    rows = [*ROWS[:3], {"step": 4, "loss": 7.0}]
    again = write_run(tmp_path / "again", rows=rows, step=4, weights=tensors(), figures=figures[:1])
    result = compare_runs(run, again)
    assert result.is_equal
    assert (result.num_rows, result.last_step, result.num_figures) == (3, 4, 1)
    assert result.notes == ("the run ended as interrupted: it is compared up to step 4",)
    assert result.lines()[-1] == result.notes[0]


def test_weights_that_cannot_be_compared_are_told(run, tmp_path):
    other = write_run(tmp_path / "other", step=5, weights=tensors())
    assert compare_runs(run, other).notes == (
        "the weights are not compared: those of the run are of step 6, those of the repetition of "
        "step 5",
    )
    shutil.rmtree(other / "weights")
    assert compare_runs(run, other).notes == (
        "the repetition has no weights, so they are not compared",
    )
    assert compare_runs(other, run).notes == ("the run has no weights, so they are not compared",)


def test_a_folder_without_anything_to_compare_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"neither metrics\.jsonl nor weights"):
        steps_to_repeat(tmp_path)
