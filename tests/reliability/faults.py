"""A hook that does to a run what a bad day does: loaded by ``--plugin-file``."""

from __future__ import annotations

import datetime
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from reid_core import hookimpl
from reid_core.engine import DefaultTrainer
from reid_core.plugins.registries import HOOKS


@HOOKS.register(name="fault")
class Fault:
    """Does one bad thing before a step.

    Args:
        what: ``image``: all training images are broken from then on. ``worker``: a process that
            reads images is killed. ``hook``: an exception. ``full``: the disk has no byte left.
            ``clock``: the clock on the wall goes a day back, and a day ahead three steps later.
            ``nothing``.
        step: Before which one, from 0.
    """

    def __init__(self, *, what: str, step: int) -> None:
        self._what = what
        self._step = step

    @hookimpl
    def before_step(self, trainer: DefaultTrainer, step: int) -> None:
        """Do it when it is time."""
        if step == self._step + 3 and self._what == "clock":
            set_clock(86400.0)
        if step != self._step:
            return
        if self._what == "image":
            rows = trainer.train_manifests[0]
            for path in rows.paths.tolist():
                Path(rows.root, path).write_bytes(b"no image")
        elif self._what == "worker":
            (first, *_) = children(os.getpid())
            os.kill(first, signal.SIGKILL)
        elif self._what == "hook":
            raise ValueError("the hook has had enough")
        elif self._what == "full":
            fill(trainer.folder.path)
        elif self._what == "clock":
            set_clock(-86400.0)


def fill(folder: Path) -> None:
    """Fill the disk of a folder to its last byte."""
    with suppress(OSError), (folder / "filling").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def set_clock(seconds: float) -> None:
    """Shift the clock on the wall, for this process."""
    real, datetime_now = time.clock_gettime, datetime.datetime

    class Shifted(datetime_now):
        """A date that is off."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            """Return the wrong time."""
            return datetime_now.fromtimestamp(time.time(), tz)

    time.time = lambda: real(time.CLOCK_REALTIME) + seconds
    datetime.datetime = Shifted  # type: ignore[misc]
