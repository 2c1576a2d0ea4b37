from __future__ import annotations

import hashlib
import json
import sys

import pytest

from reid_core.config import Config
from reid_core.engine.record.fingerprint import SetFingerprint
from reid_core.engine.record.git_state import GitState
from reid_core.engine.record.packages import Package
from reid_core.engine.record.run_facts import RunFacts
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.step.numerics import Numerics
from reid_core.errors import UsageError
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.local_files import PluginFile


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def local_code(tmp_path, monkeypatch):
    """A function that says what is in the file that the process has loaded."""

    def load(content):
        file = PluginFile(tmp_path / "my_hook.py", "my_hook", content)
        monkeypatch.setattr("reid_core.engine.record.run_folder.plugin_files", lambda: [file])
        return file

    return load


def head(version):
    return ComponentRef("heads", "small", "m:Small", "reid-plugin-small", version, "ok")


def versions_in(folder, name):
    return [ref["version"] for ref in json.loads((folder.path / name).read_text())]


def names_in(folder):
    return {path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*.*")}


def test_what_a_resume_would_replace_is_kept_under_a_number(folder, monkeypatch):
    for command, version, seed in [("a", "1", 1), ("b", "2", 1), ("c", "2", 3)]:
        monkeypatch.setattr(sys, "argv", [command])
        folder.write_start(Config(seed=seed), [head(version)])
    assert names_in(folder) == {
        *("config.yaml", "components.json", "env.json"),
        *("components.1.json", "env.1.json"),
        *("config.2.yaml", "env.2.json"),
    }
    assert versions_in(folder, "components.1.json") == ["1"]
    assert versions_in(folder, "components.json") == ["2"]
    commands = [
        json.loads((folder.path / name).read_text())["command"]
        for name in ("env.1.json", "env.2.json", "env.json")
    ]
    assert commands == [["a"], ["b"], ["c"]]
    assert "seed: 1" in (folder.path / "config.2.yaml").read_text()
    assert "seed: 3" in (folder.path / "config.yaml").read_text()


def test_what_stays_the_same_is_not_kept_twice(folder, local_code):
    local_code(b"x = 1")
    for _ in range(3):
        folder.write_start(Config(), [head("1")])
    assert names_in(folder) == {"config.yaml", "components.json", "env.json", "plugins/my_hook.py"}


def test_edited_local_code_is_kept_beside_the_first_copy(folder, local_code):
    edited = f"plugins/my_hook.{hashlib.sha256(b'x = 2').hexdigest()[:12]}.py"
    copies = []
    for content in (b"x = 1", b"x = 2", b"x = 2", b"x = 1"):
        file = local_code(content)
        folder.write_start(Config(), [])
        (entry,) = json.loads((folder.path / "env.json").read_text())["plugin_files"]
        assert entry["sha256"] == file.sha256
        assert (folder.path / entry["copy"]).read_bytes() == content
        copies.append(entry["copy"])
    assert copies == ["plugins/my_hook.py", edited, edited, "plugins/my_hook.py"]
    assert len(list((folder.path / "plugins").iterdir())) == 2


def test_a_run_that_failed_before_its_first_step_may_be_corrected_in_its_folder(folder):
    folder.write_start(Config(), [])
    folder.write_status("failed", step=0)
    RunFolder(folder.path).require_unused()


@pytest.mark.parametrize("loss", ["state", "step", "checkpoint", "row", "status"])
def test_a_folder_with_anything_to_lose_is_not_used_again(folder, loss):
    folder.write_start(Config(), [])
    state = "interrupted" if loss == "state" else "failed"
    folder.write_status(state, step=1 if loss == "step" else 0)
    if loss == "checkpoint":
        (folder.path / "checkpoints").mkdir()
        (folder.path / "checkpoints" / "step_00000001.pt").write_bytes(b"")
    if loss == "row":
        (folder.path / "metrics.jsonl").write_text("{}\n")
    if loss == "status":
        (folder.path / "status.json").write_text("{")
    with pytest.raises(UsageError, match="holds a run already"):
        RunFolder(folder.path).require_unused()


def facts(**changes):
    """Facts of a run without components; git knows no repository unless one is given."""
    made = {
        "seed": 5,
        "components": (),
        "data": (SetFingerprint("train", "mine", 4, 2, 1, "c0ffee", "4 files"),),
        "numerics": Numerics(deterministic=True),
        "num_processes": 2,
        "git": None,
        "plugin_git": {},
        "packages": (Package("abc", "1"), Package("mine", "2", "/home/me")),
    }
    return RunFacts(**{**made, **changes})


def repository(diff):
    return GitState("/code", "abc1", "work", ("a.py",) if diff else (), int(bool(diff)), diff)


def test_a_training_says_what_it_is_made_of(folder):
    found = facts(git=repository("+x"), plugin_git={"reid-plugin-x": repository("")})
    folder.write_start(Config(), [], found)
    assert json.loads((folder.path / "data.json").read_text())[0]["columns"] == "c0ffee"
    lines = (folder.path / "packages.txt").read_text().splitlines()
    assert lines == ["abc==1", "mine==2  # editable: /home/me"]
    assert (folder.path / "git.diff").read_text() == "+x"
    environment = json.loads((folder.path / "env.json").read_text())
    assert (environment["seed"], environment["processes"]) == (5, 2)
    assert environment["numerics"]["deterministic"] is True
    assert environment["git"] == {
        "root": "/code",
        "commit": "abc1",
        "branch": "work",
        "dirty": ["a.py"],
        "num_dirty": 1,
    }
    assert environment["plugin_git"] == {"reid-plugin-x": {"commit": "abc1", "num_dirty": 0}}
    assert json.loads(json.dumps(found.saved)) == found.saved


def test_a_diff_that_is_no_more_is_kept_under_a_number(folder):
    folder.write_start(Config(), [], facts(git=repository("+x")))
    folder.write_start(Config(), [], facts(git=repository("")))
    assert "git.diff" not in names_in(folder)
    assert (folder.path / "git.1.diff").read_text() == "+x"
    assert "env.1.json" in names_in(folder)
    folder.write_start(Config(), [], facts())
    assert "git.2.diff" not in names_in(folder)
    assert json.loads((folder.path / "env.json").read_text())["git"] is None


# B133
def test_a_made_up_name_that_a_run_of_the_same_second_has_is_no_mistake(tmp_path):
    first, second = (RunFolder(tmp_path / "run", is_free_choice=True) for _ in range(2))
    first.claim()
    (first.path / "metrics.jsonl").write_text('{"step": 1}\n')
    second.require_unused()
    second.claim()
    assert (first.path.name, second.path.name) == ("run", "run-2")


def test_the_status_is_true_also_when_no_second_file_fits_on_the_disk(folder, monkeypatch):
    folder.path.mkdir()
    folder.write_status("running")

    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("reid_core.engine.record.run_folder.write_bytes_atomically", full)
    folder.write_status("failed", reason="no room")
    status = json.loads((folder.path / "status.json").read_text())
    assert (status["state"], status["reason"]) == ("failed", "no room")
    (folder.path / "status.json").unlink()
    with pytest.raises(OSError, match="No space left"):
        folder.write_status("failed")


def test_an_output_that_cannot_be_made_is_the_users_mistake(tmp_path, monkeypatch):
    def no_space(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.mkdir", no_space)
    for is_free in (False, True):
        folder = RunFolder(tmp_path / "run", is_free_choice=is_free)
        with pytest.raises(UsageError, match="run cannot be made: No space left on device; choose"):
            folder.claim()
