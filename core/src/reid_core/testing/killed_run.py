"""A tiny run whose process is gone at its first checkpoint, as ``kill -9`` leaves it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from pathlib import Path

import torch

from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_core.testing.two_processes import clean_context, take_environment

#: The exit code of a process that ended as planned; no other end has it.
_KILLED = 77
_SECONDS = 120.0


def run_until_killed(run: TinyRun, folder: Path) -> str:
    """Train in a process of its own until the first checkpoint is on the disk, and end it there.

    No hook is told of the end, no file is closed and no buffer is written.

    Args:
        run: What is trained.
        folder: Where data and run folder go.

    Returns:
        What went wrong, as the end of a sentence; empty where the run was killed as planned.
    """
    run.config(folder)  # writes the data
    process = clean_context().Process(target=_train, args=(run, str(folder), dict(os.environ)))
    process.start()
    process.join(_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return f"had no checkpoint after {_SECONDS:g} s"
    if process.exitcode == _KILLED:
        return ""
    error = _error_file(folder)
    told = error.read_text(encoding="utf-8") if error.is_file() else "without an error"
    return f"ended with code {process.exitcode}: {told}"


class _Kill:
    """Ends the process when a checkpoint is safe."""

    @hookimpl(trylast=True)
    def after_checkpoint(self) -> None:
        os._exit(_KILLED)


def _train(run: TinyRun, folder: str, variables: Mapping[str, str]) -> None:
    """Train and end; the body of the child process."""
    take_environment(variables)
    torch.set_num_threads(1)
    try:
        trainer = TinyTrainer(run.config(Path(folder)))
        trainer.register_hooks([_Kill()])
        trainer.train()
    except BaseException:
        _error_file(Path(folder)).write_text(traceback.format_exc(), encoding="utf-8")
        raise


def _error_file(folder: Path) -> Path:
    return folder / "killed_run.txt"
