from __future__ import annotations

import hashlib
import json
import sys

import pytest
from click.testing import CliRunner

from reid_core.cli.train import main
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, Interrupted
from reid_core.engine.reproducing.repetition import load_local_code
from reid_core.plugins.registries import HOOKS, local_components

#: A hook that lies in a file, and changes what the run comes to.
LOCAL_CODE = """
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS

@HOOKS.register()
class {name}:
    @hookimpl
    def after_backward(self, trainer):
        for parameter in trainer.model.parameters():
            parameter.grad.mul_({factor})
"""


def train(*options):
    return CliRunner().invoke(main, [str(option) for option in options])


@pytest.fixture
def quick(tiny_recipe, tmp_path):
    """Options of a run of 2 epochs of 4 steps with nothing around it."""
    hooks = "['lr_schedule', 'checkpoint', 'evaluation', 'metric_log']"
    return [
        *("--config", tiny_recipe, "--output", tmp_path / "run", "--set", "train.epochs=2"),
        *("--set", "evaluate.every=1", "--set", "evaluate.details=false"),
        *("--set", f"default_hooks={hooks}"),
    ]


@pytest.fixture
def forget(monkeypatch):
    """A function that lets go of local code, as a new process would not know it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)

    def forget():
        sys.path[:] = before
        sys.modules.pop("reproduced_hook", None)
        if any(ref.name == "reproduced_hook" for ref in local_components()):
            HOOKS.unregister("reproduced_hook")

    yield forget
    forget()


def outcome(folder):
    return json.loads((folder / "reproduction.json").read_text())


def test_a_run_that_was_interrupted_is_reproduced_as_far_as_it_went(
    quick, tmp_path, monkeypatch, stop_after
):
    assert train(*quick).exit_code == 0
    config = load_config(tmp_path / "run" / "config.yaml", {"output": str(tmp_path / "cut")})
    trainer = DefaultTrainer(config)
    trainer.register_hooks([stop_after(5)])
    trainer.resume_or_load()
    with pytest.raises(Interrupted):
        trainer.train()
    # Left over from a launcher; without WORLD_SIZE this process is alone, and the first one.
    monkeypatch.setenv("RANK", "1")
    result = train("--reproduce", tmp_path / "cut")
    assert result.exit_code == 0, result.output
    assert "compared up to step 5" in result.stdout
    assert "5 figures, the last weights are bitwise equal" in result.stdout
    plain = outcome(tmp_path / "cut-again")
    assert (plain["equal"], plain["last_step"], plain["first"]) == (True, 4, None)
    assert plain["weights"]["was"] == plain["weights"]["now"]
    assert "everything that is known of the run is as it was" in result.stderr


def test_a_run_with_local_code_is_reproduced_and_what_differs_is_told(quick, tmp_path, forget):
    source = tmp_path / "reproduced_hook.py"
    source.write_text(LOCAL_CODE.format(name="reproduced_hook", factor=0.5))
    local = ["--plugin-file", source, "--set", "hooks=[local/reproduced_hook]"]
    assert train(*quick, *local).exit_code == 0
    forget()
    source.unlink()
    # What was changed by hand since: the seed in the folder's own configuration.
    config, packages = tmp_path / "run" / "config.yaml", tmp_path / "run" / "packages.txt"
    config.write_text(config.read_text().replace("seed: 0", "seed: 1"))
    packages.write_text(packages.read_text() + "gone==1\n")
    (tmp_path / "run" / "env.1.json").write_text("{}")
    result = train("--reproduce", tmp_path / "run", "--output", tmp_path / "other")
    assert result.exit_code == 5, result.output
    assert "reproduce: local code plugins/reproduced_hook.py of the run is used" in result.stderr
    assert "warning: reproduce: packages.gone is None now, was '1'" in result.stderr
    assert "the run was resumed in another environment (env.1.json)" in result.stderr
    lines = result.stdout.splitlines()
    assert any(line.startswith("not reproduced; compared were 6 rows of metrics") for line in lines)
    assert any(line.startswith("the first difference is at step 2: loss was ") for line in lines)
    assert any(line.startswith("the last weights differ by up to ") for line in lines)
    assert "1 fact is not as it was; 'made_of' in " in result.stdout
    plain = outcome(tmp_path / "other")
    assert plain["equal"] is False
    assert {"path": "packages.gone", "was": "1", "now": None} in plain["made_of"]
    assert (tmp_path / "other" / "plugins" / "reproduced_hook.py").is_file()


def test_local_code_that_was_edited_is_used_under_its_first_name(tmp_path, forget):
    run, copies = tmp_path / "run", tmp_path / "copies"
    (run / "plugins").mkdir(parents=True)
    copies.mkdir()
    code = LOCAL_CODE.format(name="reproduced_hook", factor=2).encode()
    digest = hashlib.sha256(code).hexdigest()
    copy = f"plugins/reproduced_hook.{digest[:12]}.py"
    (run / copy).write_bytes(code)
    entry = {"path": "/home/me/reproduced_hook.py", "sha256": digest, "copy": copy}
    (run / "env.json").write_text(json.dumps({"plugin_files": [entry]}))
    load_local_code(run, copies)
    assert HOOKS.resolve("local/reproduced_hook").version == f"sha256:{digest[:12]}"
    # What is known to the process already is not loaded from a second place.
    load_local_code(run, tmp_path / "none")


def test_local_code_that_was_changed_or_lost_is_refused(tmp_path):
    run = tmp_path / "run"
    (run / "plugins").mkdir(parents=True)
    (run / "config.yaml").write_text("seed: 0\n")
    (run / "metrics.jsonl").write_text('{"step": 2, "loss": 1.0}\n')
    entry = {"path": "/home/me/my_hook.py", "sha256": "0" * 64, "copy": "plugins/my_hook.py"}
    (run / "env.json").write_text(json.dumps({"plugin_files": [entry]}))
    result = train("--reproduce", run)
    assert result.exit_code == 2
    assert "plugins/my_hook.py is missing; put it back" in result.stderr
    (run / "plugins" / "my_hook.py").write_text("x = 1\n")
    result = train("--reproduce", run)
    assert result.exit_code == 2
    assert f"plugins/my_hook.py was changed since; expected the file of sha256 {'0' * 64}" in (
        result.stderr
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--config", "x.yaml"], "--config"),
        (["--set", "seed=1", "--resume"], "--set, --resume"),
        (["--eval-only"], "--eval-only"),
        (["--plugin-file", "a.py"], "--plugin-file"),
    ],
)
def test_an_option_that_would_make_it_another_run_is_refused(options, named, tmp_path):
    result = train("--reproduce", tmp_path, *options)
    assert result.exit_code == 2
    assert f"does what the run folder says, so it goes without {named};" in result.stderr


def test_a_folder_that_holds_no_run_is_refused(tmp_path):
    result = train("--reproduce", tmp_path)
    assert result.exit_code == 2
    assert "config.yaml; expected a run folder" in result.stderr
    (tmp_path / "config.yaml").write_text("seed: 0\n")
    result = train("--reproduce", tmp_path)
    assert "neither metrics.jsonl nor weights" in result.stderr


def test_a_damaged_file_of_the_run_is_told_before_anything_is_repeated(
    quick, tmp_path, monkeypatch
):
    folder = tmp_path / "run"
    assert train(*quick).exit_code == 0
    monkeypatch.setattr("reid_core.cli.train.reproduce.train", None)
    for name in ("env.json", "results.json", "data.json", "weights/last.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
        result = train("--reproduce", folder)
        assert isinstance(result.exception, SystemExit), name
        assert result.exit_code in (1, 2), name
        assert f"{folder / name}" in result.stderr
        (folder / name).write_bytes(content)
    assert not (tmp_path / "run-again").exists()
