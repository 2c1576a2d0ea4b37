from __future__ import annotations

import hashlib
import json
import sys

import pytest

from reid_core.config import Config
from reid_core.engine.run_folder import RunFolder
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
        monkeypatch.setattr("reid_core.engine.run_folder.plugin_files", lambda: [file])
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
