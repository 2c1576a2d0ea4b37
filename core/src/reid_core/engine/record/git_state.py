"""What git says about the folder a run was started in, and about plugins that lie in one."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

#: Seconds that git may take for an answer; a repository on a slow disk shall not hold a run up.
_PATIENCE_SECONDS = 10.0
#: Changed files that are listed by name.
MAX_FILES = 100
#: Bytes of a diff that is kept.
MAX_DIFF = 2**20


@dataclass(frozen=True)
class GitState:
    """A repository at one moment.

    Args:
        root: Its top folder.
        commit: Hash of the commit that is checked out; None before the first one.
        branch: Name of the branch; None where none is checked out.
        dirty: Files that differ from the commit or are not in it, sorted, from ``root``; at most
            :data:`MAX_FILES`.
        num_dirty: How many there are.
        diff: How the files of the commit differ; None where that is too long, or cannot be had.
    """

    root: str
    commit: str | None
    branch: str | None
    dirty: tuple[str, ...]
    num_dirty: int
    diff: str | None = field(repr=False)

    def plain(self) -> dict[str, object]:
        """Return plain types, without the diff."""
        return {
            "root": self.root,
            "commit": self.commit,
            "branch": self.branch,
            "dirty": list(self.dirty),
            "num_dirty": self.num_dirty,
        }


@cache
def git_state(folder: Path) -> GitState | None:
    """Return the state of the repository that a folder lies in, as this process first asked.

    What a process runs was read when it began, so later changes are not part of it.

    Args:
        folder: An absolute path.

    Returns:
        None where there is no repository, no git, or no answer in time.
    """
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None:
        return None
    top = Path(root.strip())
    commit = _git(top, "rev-parse", "--verify", "--quiet", "HEAD")
    branch = _git(top, "symbolic-ref", "--quiet", "--short", "HEAD")
    status = _git(top, "status", "--porcelain=v1", "-z", "--no-renames")
    names = sorted(entry[3:] for entry in (status or "").split("\0") if entry)
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    diff = None if commit is None else _git(top, "diff", *options, "HEAD")
    return GitState(
        root=str(top),
        commit=None if commit is None else commit.strip(),
        branch=None if branch is None else branch.strip(),
        dirty=tuple(names[:MAX_FILES]),
        num_dirty=len(names),
        diff=diff if diff is not None and len(diff.encode()) <= MAX_DIFF else None,
    )


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints, None where it fails; it takes no locks and runs no other program."""
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments],
            capture_output=True,
            check=True,
            timeout=_PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # Names and diffs may hold bytes that are no text.
    return done.stdout.decode("utf-8", errors="backslashreplace")
