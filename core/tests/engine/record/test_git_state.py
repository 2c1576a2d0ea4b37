from __future__ import annotations

import shutil
import subprocess

import pytest

from reid_core.engine.record import git_state as module
from reid_core.engine.record.git_state import git_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "code"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "work")
    (folder / "a.py").write_text("x = 1\n")
    (folder / "sub" / "b.py").write_text("y = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_clean_repository_is_known_by_commit_and_branch(repository):
    state = git_state(repository / "sub")
    assert state.plain() == {
        "root": str(repository),
        "commit": git(repository, "rev-parse", "HEAD"),
        "branch": "work",
        "dirty": [],
        "num_dirty": 0,
    }
    assert state.diff == ""


def test_changed_new_and_deleted_files_are_listed_with_the_diff(repository):
    (repository / "a.py").write_text("x = 2\n")
    (repository / "new ü.py").write_text("z = 1\n")
    (repository / "sub" / "b.py").unlink()
    state = git_state(repository)
    assert state.dirty == ("a.py", "new ü.py", "sub/b.py")
    assert "-x = 1\n+x = 2\n" in state.diff
    assert "z = 1" not in state.diff, "what was never added is named alone"


def test_long_lists_and_diffs_are_cut_and_counted(repository, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILES", 2)
    monkeypatch.setattr(module, "MAX_DIFF", 100)
    (repository / "a.py").write_text("long line\n" * 50)
    for number in range(3):
        (repository / f"{number}.py").write_text("")
    state = git_state(repository)
    assert (state.dirty, state.num_dirty) == (("0.py", "1.py"), 4)
    assert state.diff is None


def test_before_the_first_commit_there_is_none(tmp_path):
    git(tmp_path, "init", "-q", "-b", "work")
    (tmp_path / "a.py").write_text("")
    state = git_state(tmp_path)
    assert (state.commit, state.branch, state.dirty, state.diff) == (None, "work", ("a.py",), None)


def test_a_commit_without_a_branch_has_none(repository):
    git(repository, "checkout", "-q", "--detach")
    assert git_state(repository).branch is None


def test_no_program_that_the_repository_names_is_run(repository, tmp_path):
    for key in ("core.fsmonitor", "diff.external"):
        git(repository, "config", key, f"touch {tmp_path / 'ran'}; cat")
    (repository / "a.py").write_text("x = 2\n")
    assert "+x = 2" in git_state(repository).diff
    assert not (tmp_path / "ran").exists()


def test_what_a_process_runs_is_what_it_found_when_it_first_asked(repository):
    first = git_state(repository)
    (repository / "a.py").write_text("x = 2\n")
    assert git_state(repository) is first


@pytest.mark.parametrize("trouble", ["no repository", "no folder", "no git", "slow"])
def test_without_an_answer_it_is_none(repository, tmp_path, monkeypatch, trouble):
    folder = repository
    if trouble == "no repository":
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        folder = tmp_path
    elif trouble == "no folder":
        folder = tmp_path / "gone"
    elif trouble == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.05)
    assert git_state(folder) is None
