"""``reid-train --resume``: another configuration, a path, other identities, another start."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.train import main

SMALL = ["--set", "evaluate.every=0", "--set", "default_hooks=[checkpoint, metric_log]"]
SMALL += ["--set", "schedule.warmup=null"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def trained(tiny_recipe: Path, tmp_path: Path) -> list[object]:
    """The options of a run of one epoch, which is done."""
    options = ["--config", tiny_recipe, *SMALL, "--output", tmp_path / "run"]
    result = run(*options, "--set", "epochs=1")
    assert result.exit_code == 0, result.output
    return options


def steps(folder: Path) -> list[int]:
    return [
        json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


# B094
def test_a_longer_run_is_asked_for_once_more_and_then_goes_on(trained, tmp_path):
    asked = run(*trained, "--resume", "--set", "epochs=2", "--set", "data.train.0.root=nowhere")
    assert asked.exit_code == 2
    assert "train.epochs: was 1, is 2 now" in asked.stderr
    assert "data.train.0.root: was " in asked.stderr, "no data was looked for"
    assert "--changes use" in asked.stderr
    assert not (tmp_path / "run" / "checkpoints" / "step_00000008.pt").exists()

    used = run(*trained, "--resume", "--changes", "use", "--set", "epochs=2")
    assert used.exit_code == 0, used.output
    assert "train.epochs is 2 now, was 1 in the checkpoint" in used.stderr
    assert "step_00000008.pt" in {p.name for p in (tmp_path / "run" / "checkpoints").iterdir()}

    # Without --config it is the run's own configuration, so there is nothing to ask.
    again = run("--resume", tmp_path / "run")
    assert again.exit_code == 0, again.output
    dropped = run(*trained, "--resume", "--changes", "drop", "--set", "epochs=9")
    assert dropped.exit_code == 0, dropped.output
    assert "train.epochs stays 2; 9 is dropped" in dropped.stderr
    assert "epochs: 2" in (tmp_path / "run" / "config.yaml").read_text()


def test_changes_are_about_a_resumed_run_only(tiny_recipe, tmp_path):
    answered = run("--config", tiny_recipe, "--output", tmp_path / "new", "--changes", "use")
    assert answered.exit_code == 2
    assert "--changes use is about a run that is resumed; name it by --resume" in answered.stderr


# B105
def test_a_path_may_be_named_and_a_wrong_one_is_answered(trained, tmp_path):
    newest = tmp_path / "run" / "checkpoints" / "step_00000004.pt"
    options = [*trained, "--set", "epochs=1"]
    resumed = run(*options, "--resume", newest)
    assert resumed.exit_code == 0, resumed.output
    assert f"resumed from {newest} after step 4" in resumed.stderr
    missing = run(*options, "--resume", tmp_path / "run" / "checkpoints" / "best.pth")
    assert missing.exit_code == 1
    assert "best.pth not found" in missing.stderr
    weights = run(*options, "--resume", tmp_path / "run" / "weights" / "last.safetensors")
    assert weights.exit_code == 1
    assert "holds weights, not the state of a run" in weights.stderr


def test_a_file_that_describes_a_run_is_answered_with_the_run(trained, tmp_path):
    folder = tmp_path / "run"
    for options in ([], trained):
        named = run(*options, "--resume", folder / "config.yaml")
        assert named.exit_code == 2
        assert f"expected a run folder, such as {folder}, or a file in its" in named.stderr


def test_a_folder_inside_of_a_run_is_answered_with_the_run(trained, tmp_path):
    named = run("--resume", tmp_path / "run" / "checkpoints")
    assert named.exit_code == 2
    assert named.stderr.endswith(f"config.yaml; the run is {tmp_path / 'run'}\n")


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(trained, tmp_path):
    folder = tmp_path / "run"
    whole = steps(folder)
    shutil.rmtree(folder / "checkpoints")
    anew = run("--resume", folder)
    assert anew.exit_code == 0, anew.output
    assert f"no checkpoint in {folder}: starting anew" in anew.stderr
    assert steps(folder) == whole
    # In the folder of another run it would be a new run, which nobody has asked for.
    shutil.rmtree(folder / "checkpoints")
    other = run("--resume", folder, "--output", tmp_path / "other")
    assert other.exit_code == 1
    assert f"there is no checkpoint in {folder} to resume from" in other.stderr


def test_a_run_that_is_done_says_so(trained, tmp_path):
    again = run("--resume", tmp_path / "run")
    assert again.exit_code == 0, again.output
    assert "nothing to train: all 4 steps are done" in again.stderr


def test_damaged_weights_are_told_before_data_is_read(trained, tmp_path):
    weights = tmp_path / "run" / "weights" / "last.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    new = [*trained[:-1], tmp_path / "new", "--set", "data.train.0.root=nowhere"]
    begun = run(*new, "--init-from", weights)
    assert begun.exit_code == 1
    assert str(weights) in begun.stderr
    assert "nowhere" not in begun.stderr


# B095
def test_other_identities_are_refused_by_resume_and_begin_anew_by_init_from(
    trained, tiny_market, tmp_path
):
    fewer = tmp_path / "fewer"
    shutil.copytree(tiny_market, fewer)
    for path in (fewer / "bounding_box_train").glob("000[123]_*"):
        path.unlink()
    train = ["--set", f"data.train={{name: market1501, root: '{fewer.as_posix()}'}}"]
    refused = run(*trained, *train, "--set", "epochs=1", "--resume", "--changes", "use")
    assert refused.exit_code == 1, refused.output
    assert "trained on other identities" in refused.stderr
    assert "--init-from FILE" in refused.stderr

    new = [*trained[:-1], tmp_path / "new", *train, "--set", "epochs=1"]
    begun = run(*new, "--init-from", tmp_path / "run")
    assert begun.exit_code == 0, begun.output
    assert "loaded 100.0% of the parameters" in begun.stderr
    assert (
        "dropped, as the identities are others: head.classifier.bias, head.classifier.weight"
        in begun.stderr
    )

    shutil.rmtree(tmp_path / "run")
    resumed = run("--resume", tmp_path / "new")
    assert resumed.exit_code == 0, resumed.output
    assert "train.init_from is not read again: the checkpoint has all weights" in resumed.stderr


# B098
def test_a_mistyped_source_of_weights_is_an_error_before_anything_is_written(trained, tmp_path):
    weights = tmp_path / "run" / "weights"
    answered = run(*trained[:-1], tmp_path / "new", "--init-from", weights / "lst.safetensors")
    assert answered.exit_code == 1
    assert f"did you mean {weights / 'last.safetensors'}?" in answered.stderr
    assert not (tmp_path / "new").exists()


def test_an_evaluation_measures_the_weights_that_a_training_would_begin_with(trained, tmp_path):
    recipe = [*trained[: trained.index("--output")], "--eval-only"]
    by_init = run(*recipe, "--init-from", tmp_path / "run")
    assert by_init.exit_code == 0, by_init.output
    assert by_init.stdout == run(*recipe, "--resume", tmp_path / "run").stdout
    assert by_init.stdout != run(*recipe).stdout


def test_a_run_whose_folder_cannot_be_written_is_not_gone_on_with(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path / "run")
    for options in (["--resume"], ["--resume", "--dry-run"]):
        answered = run(*trained, *options)
        assert answered.exit_code == 2, answered.output
        assert "run cannot be written: there is no permission" in answered.stderr
