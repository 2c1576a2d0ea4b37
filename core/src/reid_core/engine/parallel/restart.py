"""What a run that torchrun starts anew knows of the one before it.

It lies in torchrun's own store: a folder on disk that looks like this run's may be that of another
one, which this command line would have been refused to touch.
"""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.distributed.launcher_store import SharedStore, connect, has_launcher
from reid_core.distributed.processes import Processes
from reid_core.engine.record.run_folder import RunFolder
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.trainer_base import TrainerBase

log = logging.getLogger("reid_core")

_FOLDER, _OWNER, _STARTED = "run_folder", "owner", "is_started"


class RestartNote:
    """What an earlier start of this job noted, and what this one notes for the next.

    As a hook it notes when training begins.

    Args:
        processes: Those of the job; the first one reads and writes.
    """

    first_process_only = True

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._store: SharedStore | None = None
        if processes.is_first and has_launcher():
            self._store = connect("restart")

    def place(self, resume: str | None) -> tuple[RunFolder | None, str | None]:
        """Return where and from what a job that was started before goes on.

        Args:
            resume: What the command line says.

        Returns:
            The run folder, or None when this is the first start or the earlier ones had none yet;
            and what to resume from: the newest checkpoint of the folder once training had begun
            there, before that what the command line says.
        """
        folder, resume = self._processes.from_first(self._place(resume))
        if folder is not None:
            log.warning(
                "start %d of this job: going on in %s",
                self._processes.start,
                folder.path.resolve(),
            )
        return folder, resume

    def _place(self, resume: str | None) -> tuple[RunFolder | None, str | None]:
        store = self._store
        if store is None or self._processes.start == 1 or not store.check([_FOLDER]):
            return None, resume
        if store.get(_OWNER).decode() == _this_process():
            # No restart: one script that trains twice.
            return None, resume
        folder = RunFolder(Path(store.get(_FOLDER).decode()), is_own=True)
        is_started = store.check([_STARTED]) and bool(folder.checkpoints.paths())
        return folder, "auto" if is_started else resume

    def claimed(self, folder: RunFolder) -> None:
        """Note the folder, as soon as it belongs to this job."""
        if self._store is not None:
            self._store.set(_OWNER, _this_process())
            self._store.set(_FOLDER, str(folder.path.resolve()))

    @hookimpl(trylast=True)
    def before_train(self, trainer: TrainerBase) -> None:
        """Note that all checkpoints in the folder are this job's by now."""
        if self._store is not None:
            self._store.set(_STARTED, "")


def _this_process() -> str:
    return f"{socket.gethostname()} {os.getpid()}"
