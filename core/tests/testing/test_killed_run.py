"""A run that is killed leaves a checkpoint to go on from, and no word of its end."""

import json

from reid_core.testing.killed_run import run_until_killed
from reid_core.testing.tiny_run import TinyRun, TinyTrainer

PLAIN = """
import os
from reid_core.hookspecs import hookimpl

class Example:
    @hookimpl
    def before_train(self, trainer):
        (trainer.folder.path / "variable.txt").write_text(os.environ["REID_TEST_VARIABLE"])

    @hookimpl
    def after_train(self, trainer):
        (trainer.folder.path / "ended.txt").touch()
"""


def test_a_killed_run_stands_at_its_first_checkpoint(tmp_path, fake_dist, monkeypatch) -> None:
    fake_dist(
        "reid-plugin-example",
        {"hooks": {"example": "reid_plugin_example:Example"}},
        modules={"reid_plugin_example.py": PLAIN},
    )
    # The server that starts processes may be older than the variable.
    assert run_until_killed(TinyRun(), tmp_path / "first") == ""
    monkeypatch.setenv("REID_TEST_VARIABLE", "new")
    run = TinyRun(hook="reid-plugin-example/example")
    assert run_until_killed(run, tmp_path) == ""
    folder = tmp_path / "run"
    assert [path.name for path in (folder / "checkpoints").glob("step_*")] == ["step_00000004.pt"]
    assert json.loads((folder / "status.json").read_text())["state"] == "running"
    assert (folder / "variable.txt").read_text() == "new"
    assert not (folder / "ended.txt").exists()
    trainer = TinyTrainer(run.config(tmp_path))
    trainer.resume_or_load("auto")
    assert trainer.start_iter == 4


def test_a_run_that_fails_first_says_why(tmp_path) -> None:
    error = run_until_killed(TinyRun(hook="reid-core/none"), tmp_path)
    assert error.startswith("ended with code 1: Traceback")
    assert "unknown hook 'reid-core/none'" in error
