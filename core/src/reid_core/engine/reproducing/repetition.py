"""Doing a run again: its local code, what is different today, and where it ended."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.config.difference import Side, compare
from reid_core.errors import UsageError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.local_files import load_plugin_file, plugin_files

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

#: Differences that are listed in the log; reproduction.json has all.
_SHOWN = 30


class TellDifferences:
    """Says before the first step what is not as it was when the run was made.

    Args:
        run: The folder of the run that is done again.
        local_code: Its copies of local code that are used, from that folder.
    """

    first_process_only = True

    def __init__(self, run: Path, local_code: Sequence[str] = ()) -> None:
        self._run = run
        self._local_code = local_code

    @hookimpl(tryfirst=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Compare the folders; that of this run says by now what it is made of."""
        for copy in self._local_code:
            log.info("reproduce: local code %s of the run is used", copy)
        differences, notes = compare(Side.read(str(self._run)), Side.read(str(trainer.folder.path)))
        for one in differences[:_SHOWN]:
            log.warning("reproduce: %s is %r now, was %r", one.path, one.b, one.a)
        if len(differences) > _SHOWN:
            log.warning("reproduce: and %d more differences", len(differences) - _SHOWN)
        for note in [*notes, *_history(self._run)]:
            log.warning("reproduce: %s", note)
        if not differences:
            log.info("reproduce: everything that is known of the run is as it was")


class StopAfter:
    """Ends a run after as many steps as there are to compare.

    Args:
        steps: How many.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps

    @hookimpl
    def should_stop(self, step: int) -> str | None:
        """Say so after the last one."""
        done = step + 1
        return f"{self._steps} steps were to be repeated" if done >= self._steps else None


def load_local_code(run: Path, folder: Path) -> list[str]:
    """Import the local code that a run kept, in the order in which it lists it.

    Args:
        run: Its folder.
        folder: An empty one that lives as long as the process, for copies under their first name.

    Returns:
        The copies that were used, from the run's folder.

    Raises:
        UsageError: A copy is missing, or is not what the run was made with.
        PluginError: Its code fails.
    """
    environment = run / "env.json"
    try:
        facts = json.loads(environment.read_text(encoding="utf-8")) if environment.is_file() else {}
    except ValueError as error:
        raise UsageError(f"--reproduce {run}: {environment} cannot be read: {error}") from error
    used = []
    for one in facts.get("plugin_files", ()):
        copy = run / str(one["copy"])
        if not copy.is_file():
            raise UsageError(f"--reproduce {run}: its local code {copy} is missing; put it back")
        if hashlib.sha256(copy.read_bytes()).hexdigest() != one["sha256"]:
            raise UsageError(
                f"--reproduce {run}: its local code {copy} was changed since; expected the file of "
                f"sha256 {one['sha256']}"
            )
        used.append(str(one["copy"]))
        name = Path(str(one["path"])).name
        if (name, one["sha256"]) in {(file.path.name, file.sha256) for file in plugin_files()}:
            continue  # it was loaded for another run of this process
        if copy.name != name:
            # An edited file is kept under a longer name, which no module can have.
            copy = Path(shutil.copyfile(copy, folder / name))
        load_plugin_file(copy)
    return used


def _history(run: Path) -> list[str]:
    """Return what a run went through that its repetition does not."""
    if list(run.glob("config.[0-9]*.yaml")):
        return [
            "the run was resumed with another configuration (config.1.yaml); the newest one is "
            "repeated from the first step, so that it cannot come out the same"
        ]
    if list(run.glob("env.[0-9]*.json")):
        return ["the run was resumed in another environment (env.1.json); it is repeated in one go"]
    return []
