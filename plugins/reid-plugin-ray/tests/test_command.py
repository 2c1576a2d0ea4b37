"""What the commands refuse before anything is started, and that help answers at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from reid_plugin_ray.command import main
from reid_plugin_ray.tuning.request import SweepRequest


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command line in a folder; returns its exit code and what it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        result = CliRunner().invoke(main, [str(word) for word in words])
        return result.exit_code, result.output

    return run


@pytest.fixture
def space(tmp_path):
    path = tmp_path / "space.yaml"
    path.write_text("train.optimizer.lr: {uniform: [0.1, 0.2]}")
    return path


def test_a_new_sweep_needs_a_recipe_and_a_space(call, recipe):
    code, output = call("tune", "-o", "s", "--config", recipe)
    assert code == 2
    assert "--config osnet/osnet_x0_25 --space space.yaml" in output


def test_a_wrong_space_starts_nothing(call, recipe, tmp_path):
    (tmp_path / "space.yaml").write_text("train.optimizer.lrr: {uniform: [0.1, 0.2]}")
    code, output = call("tune", "-o", "s", "--config", recipe, "--space", "space.yaml")
    assert code == 2
    assert "space.yaml:1:1  train.optimizer.lrr" in output
    assert "did you mean lr" in output
    assert not (tmp_path / "s").exists()


def test_a_used_folder_is_not_swept_into(call, recipe, space, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/x").touch()
    code, output = call("tune", "-o", "s", "--config", recipe, "--space", space)
    assert code == 2
    assert "is used already; choose another folder" in output
    (tmp_path / "s/sweep.json").touch()
    _, output = call("tune", "-o", "s", "--config", recipe, "--space", space)
    assert "holds a sweep already; go on with it by --resume" in output


def test_the_loss_is_not_maximised(call, recipe, space):
    words = ("tune", "-o", "s", "--config", recipe, "--space", space, "--metric", "loss")
    code, output = call(*words)
    assert code == 2
    assert "less of it is better; add --mode min" in output


def test_a_sweep_without_evaluations_is_refused(call, recipe, space):
    words = ("--config", recipe, "--space", space, "--set", "evaluate.every=0")
    code, output = call("tune", "-o", "s", *words)
    assert code == 2
    assert "set evaluate.every above 0" in output


def test_a_sweep_is_gone_on_with_as_it_was_begun(call, recipe):
    code, output = call("tune", "-o", "s", "--resume", "--config", recipe, "--samples", "3")
    assert code == 2
    assert "leave out --config, --samples" in output


def test_there_has_to_be_a_sweep_to_go_on_with(call):
    code, output = call("tune", "-o", "s", "--resume")
    assert code == 2
    assert "holds no sweep" in output


def test_failed_trials_are_tried_again_only_in_a_sweep_gone_on_with(call):
    code, output = call("tune", "-o", "s", "--retry-failed")
    assert (code, "--retry-failed belongs to --resume" in output) == (2, True)


def test_a_sweep_is_kept_as_it_was_asked_for(tmp_path):
    request = SweepRequest(
        source="a/b",
        settings=("train.epochs",),
        config={"seed": 0},
        space={"seed": {"grid": [0, 1]}},
        metric="mAP",
        mode="max",
        samples=3,
        seed=7,
        scheduler="none",
        grace=2,
        concurrent=None,
        cpus=1.5,
        gpus=0,
        folder="/x",
        restarts=0,
        plugin_files=("/a.py",),
    )
    request.write(tmp_path)
    assert SweepRequest.read(tmp_path) == request
    assert request.num_trials == 6


def test_embeddings_are_not_written_over_others(call, tmp_path, tiny_market):
    (tmp_path / "e").mkdir()
    (tmp_path / "e/part-000000.parquet").touch()
    code, output = call("embed", tiny_market, "-w", "nothing", "-o", "e")
    assert code == 2
    assert "nothing is overwritten; choose another folder, or --resume" in output


def test_weights_that_are_not_there_are_told(call, tiny_market):
    code, output = call("embed", tiny_market, "-w", "nothing.safetensors", "-o", "e")
    assert code == 1
    assert "nothing.safetensors" in output


def test_a_data_set_that_is_not_there_is_told(call):
    code, output = call("embed", "no/data", "-w", "nothing.safetensors", "-o", "e")
    assert code == 3
    assert "no/data" in output


def test_help_imports_neither_torch_nor_ray():
    code = (
        "import sys, click.testing, reid_plugin_ray.command as c\n"
        "for sub in ([], ['tune'], ['embed']):\n"
        "    click.testing.CliRunner().invoke(c.main, [*sub, '--help'])\n"
        "print(sorted({'torch', 'ray', 'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_an_output_that_cannot_be_made_starts_nothing(call, recipe, space, tiny_market, tmp_path):
    (tmp_path / "file").touch()
    for words in (
        ("tune", "--config", recipe, "--space", space),
        ("embed", tiny_market, "-w", "x"),
    ):
        code, output = call(*words, "-o", "file/s")
        assert code == 2
        assert "--output" in output
        assert "cannot be made" in output
