"""The checkpoints of a run: written atomically, the newest whole one found again."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import torch

from reid_core.checkpoint.atomic import write_atomically
from reid_core.checkpoint.weights import load_pickle_safely, require_file
from reid_core.errors import CheckpointError

log = logging.getLogger("reid_core")

#: Version of the layout; a file of another version is refused rather than misread.
FORMAT = 1
#: Bytes.
_COPIED_AT_ONCE = 2**20
_NAME = re.compile(r"step_(\d+)\.pt\Z")


class CheckpointFolder:
    """The folder ``checkpoints`` of a run.

    A checkpoint is ``step_<steps done>.pt``; ``best.pt`` is the one with the best metric, and
    ``emergency.pt`` the state that a failing hook interrupted. The one before the newest stays, so
    that a file damaged by a crash costs one interval, not the run.

    Args:
        folder: The folder; made when something is saved.
        keep: Number of newest checkpoints kept, at least 1.
    """

    def __init__(self, folder: Path, *, keep: int = 2) -> None:
        self.folder = folder
        self._keep = keep

    def save(self, state: Mapping[str, object], step: int, *, same_as: Path | None = None) -> Path:
        """Save the state after ``step`` steps, then drop the oldest beyond ``keep``.

        Args:
            state: The state.
            step: Steps it has done.
            same_as: A file that the same state was just written to; its bytes are taken. They are
                copied: a second name of one file would be damaged together with the first.

        Raises:
            CheckpointError: It cannot be written; earlier checkpoints are untouched.
        """
        path = self.path_of(step)
        if same_as is None:
            self._write(path, state)
        else:
            self._copy(same_as, path)
        others = [other for other in self.paths() if other != path]
        for old in others[self._keep - 1 :]:
            old.unlink(missing_ok=True)
        return path

    def path_of(self, step: int) -> Path:
        """Return the file of the state after ``step`` steps, whether it is there or not."""
        return self.folder / f"step_{step:08d}.pt"

    def set_aside_after(self, step: int) -> list[Path]:
        """Move checkpoints of later steps into the folder ``set_aside``.

        A run that goes on from an earlier step would otherwise be taken for finished by the next
        resume, which looks for the highest step.

        Args:
            step: Steps done by the checkpoint that training goes on from.

        Returns:
            Where they are now.
        """
        later = [path for path in self.paths() if _step_of(path) > step]
        aside = self.folder / "set_aside"
        if later:
            aside.mkdir(exist_ok=True)
        return [path.replace(aside / path.name) for path in later]

    def save_best(self, state: Mapping[str, object]) -> Path:
        """Save the state as ``best.pt``.

        Raises:
            CheckpointError: It cannot be written; an earlier one is untouched.
        """
        path = self.folder / "best.pt"
        self._write(path, state)
        return path

    def save_emergency(self, state: Mapping[str, object]) -> Path:
        """Save the state of a run that failed as ``emergency.pt``, which no resume takes by itself.

        Raises:
            CheckpointError: It cannot be written; other checkpoints are untouched.
        """
        path = self.folder / "emergency.pt"
        self._write(path, state)
        return path

    def paths(self) -> list[Path]:
        """Return the numbered checkpoints, newest first."""
        if not self.folder.is_dir():
            return []
        found = [path for path in self.folder.iterdir() if _NAME.match(path.name)]
        return sorted(found, key=_step_of, reverse=True)

    def load_latest(
        self, flaw: Callable[[Mapping[str, object]], str] = lambda state: ""
    ) -> tuple[Path, dict[str, object]] | None:
        """Load the newest checkpoint that is whole; damaged ones are named and passed over.

        Args:
            flaw: Says what is wrong with a state, so that it is passed over too; empty for nothing.

        Returns:
            Its path and state; None when there is no checkpoint at all.

        Raises:
            CheckpointError: There are some, but all are damaged.
        """
        paths = self.paths()
        problems = []
        for path in paths:
            try:
                return path, _flawless(path, flaw)
            except CheckpointError as error:
                log.warning("%s; trying the one before it", error)
                problems.append(str(error))
        if problems:
            raise CheckpointError(
                "no checkpoint is whole:\n  " + "\n  ".join(problems) + "\n" + self._way_out()
            )
        return None

    def _way_out(self) -> str:
        """Return what is left to a run whose checkpoints are all lost."""
        weights = self.folder.parent / "weights"
        names = ("last.safetensors", "best.safetensors")
        left = [weights / name for name in names if (weights / name).is_file()]
        if not left:
            return "put a copy of one back, or begin a new run"
        return (
            "put a copy of one back, or begin a new run with the weights alone: "
            f"--init-from {shlex.quote(str(left[0]))}, and another --output"
        )

    def _write(self, path: Path, state: Mapping[str, object]) -> None:
        try:
            write_atomically(path, lambda file: torch.save({"format": FORMAT, **state}, file))
        except (OSError, RuntimeError) as error:
            # torch reports a failed write as a RuntimeError of its archive writer.
            raise self._not_written(path, error) from error

    def _copy(self, source: Path, path: Path) -> None:
        try:
            with source.open("rb") as file:
                write_atomically(
                    path, lambda target: shutil.copyfileobj(file, target, _COPIED_AT_ONCE)
                )
        except OSError as error:
            raise self._not_written(path, error) from error

    def _not_written(self, path: Path, error: Exception) -> CheckpointError:
        cause = error.__context__ if isinstance(error.__context__, OSError) else error
        why = cause.strerror if isinstance(cause, OSError) and cause.strerror else cause
        left = "earlier checkpoints are untouched" if self.paths() else "there is no earlier one"
        return CheckpointError(f"checkpoint {path} cannot be written: {why}; {left}")


def _step_of(path: Path) -> int:
    match = _NAME.match(path.name)
    assert match is not None
    return int(match.group(1))


def _flawless(path: Path, flaw: Callable[[Mapping[str, object]], str]) -> dict[str, object]:
    state = load_checkpoint(path)
    if found := flaw(state):
        raise CheckpointError(f"checkpoint {path} {found}")
    return state


def load_checkpoint(path: Path) -> dict[str, object]:
    """Load one training checkpoint.

    Raises:
        CheckpointError: It is missing, damaged, or no training checkpoint of this project.
    """
    path = require_file(path, what="checkpoint")
    if path.suffix == ".safetensors":
        raise CheckpointError(
            f"{path} holds weights, not the state of a run; training resumes from a file in "
            "'checkpoints', for example checkpoints/best.pt"
        )
    state = load_pickle_safely(path, what="checkpoint")
    require_sound(path)
    if not isinstance(state, dict) or "format" not in state:
        raise CheckpointError(
            f"{path} is no training checkpoint of this project; a new run begins with "
            "weights alone by --init-from FILE"
        )
    if state["format"] != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {state['format']}, this version reads {FORMAT}; "
            "install the version of reid-core that wrote it"
        )
    return cast("dict[str, object]", state)


def saved_entry(path: Path, key: str) -> object | None:
    """Read one entry of a checkpoint and nothing else, which is quick for a large one.

    Returns:
        It; None where there is none, or the file is no whole checkpoint, which
        :func:`load_checkpoint` says better.
    """
    try:
        state: object = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception:  # bytes that are no checkpoint can raise anything
        return None
    return state.get(key) if isinstance(state, dict) else None


def require_sound(path: Path) -> None:
    """Compare the checksums in a checkpoint with its content, which torch does not.

    Raises:
        CheckpointError: It is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise CheckpointError(f"checkpoint {path} is damaged: {error}") from error
    if damaged is not None:
        raise CheckpointError(
            f"checkpoint {path} is damaged: {damaged} in it is not what was written (its checksum "
            "differs)"
        )
