"""What ``reid-train`` can do instead of training, or beside it."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from reid_core.cli.train import main, profile
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS


@pytest.fixture
def train(tiny_recipe, tmp_path, monkeypatch):
    """``train(*options)`` runs the command on the tiny recipe, in an empty working directory."""
    place, thrown_away = tmp_path / "here", tmp_path / "thrown_away"
    place.mkdir()
    thrown_away.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setattr(tempfile, "tempdir", str(thrown_away))

    def run(*options: str) -> Result:
        return CliRunner().invoke(main, ["--config", str(tiny_recipe), *options])

    return run


@pytest.fixture
def hook():
    """``hook(factory)`` registers it as ``my_hook`` until the test ends."""

    def register(factory):
        HOOKS.register(factory, name="my_hook")
        return "hooks=[my_hook]"

    yield register
    HOOKS._local.pop("my_hook", None)


def files(folder: str = ".") -> list[str]:
    return sorted(path.as_posix() for path in Path(folder).rglob("*"))


def left_over(tmp_path: Path) -> list[str]:
    # torch has a folder of its own for what it compiles.
    return [path.name for path in (tmp_path / "thrown_away").glob("reid-*")]


def test_a_dry_run_does_one_batch_of_everything_and_keeps_nothing(train, hook, tmp_path):
    seen = []

    class Watcher:
        observer = True

        @hookimpl
        def after_step(self):
            seen.append("an observer")

    result = train("--dry-run", "--output", "mine", "--set", hook(Watcher))
    assert result.exit_code == 0, result.output
    parts = [line.split("  ")[0] for line in result.stdout.splitlines()]
    expected = ["part", "start", "first step", "step", "evaluation of market1501", "checkpoint"]
    assert parts[:7] == [*expected, "weights"]
    assert "batch 12x3x32x16" in result.stdout
    assert "read back and equal" in result.stdout
    assert "hooks my_hook, console" in result.stdout
    assert "16 steps of" in result.stdout
    assert "2 evaluations of" in result.stdout
    assert "mAP" not in result.output, "figures of a few images are no result"
    assert files() == left_over(tmp_path) == seen == []


def test_a_dry_run_ends_as_the_run_would_and_keeps_nothing(train, hook, tmp_path):
    class Broken:
        @hookimpl
        def after_eval(self):
            raise RuntimeError("no room in the table")

    result = train("--dry-run", "--set", hook(Broken))
    assert str(result.exception) == "no room in the table"
    assert files() == left_over(tmp_path) == []


def test_a_dry_run_refuses_what_a_run_would_refuse(train, monkeypatch):
    Path("used").mkdir()
    Path("used/metrics.jsonl").write_text('{"step": 1}\n')
    result = train("--dry-run", "--output", "used")
    assert result.exit_code == 2
    assert "used holds a run already" in result.stderr
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "here")
    result = train("--dry-run", "--output", "new/run")
    assert result.exit_code == 2
    assert "output new/run cannot be written: there is no permission" in result.stderr


def test_a_dry_run_of_a_resumed_run_goes_on_where_it_stands(train):
    assert train("--output", "mine", "--set", "epochs=2").exit_code == 0
    before = files()
    stands = {path: Path(path).read_bytes() for path in before if Path(path).is_file()}
    over = train("--dry-run", "--output", "mine", "--resume", "--set", "epochs=2")
    assert over.exit_code == 2
    assert "the run is at its end already: 8 of 8 steps are done" in over.stderr
    result = train("--dry-run", "--output", "mine", "--resume", "--changes", "use")
    assert result.exit_code == 0, result.output
    assert "8 steps of" in result.stdout
    assert files() == before
    assert all(Path(path).read_bytes() == content for path, content in stands.items())


def test_the_range_test_writes_its_plot_and_nothing_else(train, tmp_path):
    pytest.importorskip("matplotlib")
    first = train("--find-lr", "--output", "mine")
    assert first.exit_code == 0, first.output
    expected = [f"mine/find_lr/lr_finder.{ending}" for ending in ("csv", "png", "svg")]
    assert files() == ["mine", "mine/find_lr", *expected]
    assert left_over(tmp_path) == []
    told = first.stdout.partition("suggestion: ")[2].split(",")[0]
    pasted = first.stdout.partition("--set train.optimizer.lr=")[2].split()[0]
    assert float(pasted) == pytest.approx(float(told), rel=0.06)
    rows = Path("mine/find_lr/lr_finder.csv").read_text().splitlines()
    assert rows[0] == "lr,loss,smoothed"
    assert float(rows[1].split(",")[0]) == pytest.approx(1e-7)
    svg = Path("mine/find_lr/lr_finder.svg").read_text()
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "learning rate, as a power of ten" in svg
    # A second one is beside it, and is the same: the seed decides.
    assert train("--find-lr", "--output", "mine").exit_code == 0
    assert Path("mine/find_lr-2/lr_finder.csv").read_text().splitlines() == rows


def test_without_an_output_the_plot_is_beside_the_runs_of_the_recipe(train):
    assert train("--find-lr").exit_code == 0
    (folder,) = Path("runs/tiny").iterdir()
    assert folder.name.startswith("find-lr-")


def test_one_thing_is_done_instead_of_training(train):
    result = train("--dry-run", "--find-lr")
    assert result.exit_code == 2
    assert "--dry-run and --find-lr are given; each of them is done instead" in result.stderr


def test_what_watches_a_training_needs_one(train):
    for option in ("--profile", "--trace-hooks"):
        result = train("--find-lr", option)
        assert result.exit_code == 2
        assert f"{option} watches a training, and --find-lr does not train" in result.stderr


def test_no_option_works_for_an_output_that_cannot_be_made(train, monkeypatch):
    Path("file").touch()
    monkeypatch.setattr("reid_core.engine.default_trainer.DefaultTrainer._build", None)
    for mode in ((), ("--dry-run",), ("--find-lr",)):
        result = train(*mode, "--output", "file/run")
        assert result.exit_code == 2, result.output
        assert "cannot be made:" in result.stderr
    result = train("--output", "run", "--init-from", "nowhere")
    assert result.exit_code == 1
    assert "nowhere not found" in result.stderr
    result = train("--resume", "")
    assert result.exit_code == 2
    assert "--resume is empty; expected auto, a checkpoint file or a run folder" in result.stderr
    assert files() == ["file"]


def test_a_profile_says_where_the_time_goes(train):
    pytest.importorskip("reid_plugin_hooks")
    result = train("--profile", "--output", "mine", "--set", "epochs=1")
    assert result.exit_code == 0, result.output
    told = result.stdout.partition("where the time of a step goes")[2]
    names = [line.split()[0] for line in told.splitlines()[1:7]]
    assert names == ["data", "forward", "backward", "update", "hooks", "step"]
    (table,) = Path("mine/profile").glob("operators_*.txt")
    assert f"operators {table.resolve()}" in told
    assert "aten::convolution_backward" in table.read_text()


def test_a_profiler_that_the_configuration_lists_is_not_added_again(train):
    pytest.importorskip("reid_plugin_hooks")
    settings = "hooks=[{name: profiler, start: 1, steps: 1, output: mine}]"
    result = train("--profile", "--output", "run", "--set", "epochs=1", "--set", settings)
    assert result.exit_code == 0, result.output
    assert [path.name for path in Path("run/mine").glob("operators_*")] == [
        "operators_00000001.txt"
    ]
    assert not Path("run/profile").exists()
    assert str(Path("run/mine/operators_00000001.txt").resolve()) in result.stdout


def test_a_profile_without_the_plugin_says_what_to_install(train, monkeypatch):
    monkeypatch.setattr("reid_core.plugins.metadata.installed_version", lambda name: None)
    result = train("--profile", "--output", "mine", "--set", "epochs=1")
    assert result.exit_code == 0, result.output
    assert "where the time of a step goes" in result.stdout
    assert "pip install reid-plugin-hooks" in result.stdout
    assert not Path("mine/profile").exists()


@pytest.mark.parametrize("length", range(1, 40))
def test_what_is_profiled_is_of_one_epoch(length):
    start, steps = profile._plan(length)
    assert start >= 1
    assert steps >= 1
    assert start + steps <= max(length, 2)
    if length >= 15:
        assert (start, steps) == (10, 5)


# B132
def test_the_configuration_is_printed_with_its_origins(train, tiny_recipe):
    options = ["--output", "mine", "--limit-train-batches", "3", "--set", "epochs=9"]
    result = train("--print-config", *options)
    assert result.exit_code == 0, result.output
    lines = {line.split("#")[0].strip(): line for line in result.stdout.splitlines()}
    assert lines["output: mine"].endswith("# --output")
    assert lines["epochs: 9"].endswith("# --set epochs=9")
    assert lines["limit_batches: 3"].endswith("# --set train.limit_batches=3")
    assert f"# {tiny_recipe}:" in lines["- name: random_flip"]
    assert lines["seed: 0"].endswith("# default")
    assert yaml.safe_load(result.stdout)["train"]["epochs"] == 9
    assert files() == []


# B133
def test_a_used_folder_is_refused_resumed_or_left_for_a_new_one(train):
    options = ["--set", "epochs=1", "--set", "evaluate.every=0"]
    assert train("--output", "mine", *options).exit_code == 0
    again = train("--output", "mine", *options)
    assert again.exit_code == 2
    assert "mine holds a run already; go on with it by --resume" in again.stderr
    assert train("--output", "mine", "--resume", *options).exit_code == 0
    assert train(*options).exit_code == train(*options).exit_code == 0
    assert len(list(Path("runs/tiny").iterdir())) == 2, "a new folder each"
    assert yaml.safe_load(Path("mine/config.yaml").read_text())["train"]["epochs"] == 1
    components = json.loads(Path("mine/components.json").read_text())
    assert all(one["dist"] for one in components)
    assert any(one["version"] for one in components)


# B130
def test_the_text_of_no_device_is_an_error(train):
    result = train("--check", "--device", "('your device id')")
    assert result.exit_code == 2
    expected = "device \"('your device id')\" cannot be used on this machine; expected one of: auto"
    assert expected in result.stderr


# B134
def test_an_evaluation_without_weights_warns_of_an_untrained_model(train):
    result = train("--eval-only")
    assert result.exit_code == 0, result.output
    assert "warning: no weights are given: an untrained model is evaluated" in result.stderr
