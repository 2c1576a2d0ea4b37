"""The folder of a run: what was asked, what it was made of, how it went."""

from __future__ import annotations

import datetime
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import overwrite, write_bytes_atomically, write_text_atomically
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.config import Config
from reid_core.config.load import dump_config
from reid_core.engine.record.environment import environment
from reid_core.errors import UsageError
from reid_core.paths import require_writable
from reid_core.plugins.index import ComponentRef
from reid_core.plugins.local_files import PluginFile, plugin_files

if TYPE_CHECKING:
    from reid_core.engine.record.run_facts import RunFacts

#: Files that show that a folder holds a run.
_MARKS = ("config.yaml", "checkpoints", "metrics.jsonl")


class RunFolder:
    """The files of one run; an existing run is never overwritten.

    Args:
        path: The folder; made when something is written.
        is_free_choice: Whether the name was made up here, so that another one would do as well.
        is_own: Whether what is in it comes from an earlier start of the same job.
    """

    def __init__(self, path: Path, *, is_free_choice: bool = False, is_own: bool = False) -> None:
        self.path = path
        self._is_own = is_own
        self._is_free_choice = is_free_choice

    @classmethod
    def for_config(cls, config: Config) -> RunFolder:
        """Return the folder a config asks for, or a new one named by recipe and time."""
        if config.output is not None:
            return cls(Path(config.output).expanduser())
        now = datetime.datetime.now().astimezone()
        path = default_parent(config) / now.strftime("%Y%m%d-%H%M%S")
        return cls(path, is_free_choice=True)

    def claim(self) -> None:
        """Make the folder, so that no other run takes it.

        Raises:
            UsageError: It holds a run, and its name was asked for; or it cannot be made.
        """
        self.require_unused()
        try:
            self._make()
        except OSError as error:
            raise UsageError(
                f"output {self.path} cannot be made: {error.strerror or error}; choose another "
                "folder by --output"
            ) from error

    def _make(self) -> None:
        if not self._is_free_choice:
            self.path.mkdir(parents=True, exist_ok=True)
            return
        base, number = self.path, 1
        while True:
            try:
                self.path.mkdir(parents=True)
            except FileExistsError:
                number += 1
                self.path = base.with_name(f"{base.name}-{number}")
            else:
                self._is_free_choice = False
                return

    @property
    def checkpoints(self) -> CheckpointFolder:
        """Its checkpoints."""
        return CheckpointFolder(self.path / "checkpoints")

    @property
    def resume_command(self) -> str:
        """What a person types to go on with the run."""
        return f"reid-train --resume {shlex.quote(str(self.path))}"

    def holds_a_run(self) -> bool:
        """Say whether there is a run in it already."""
        return any((self.path / mark).exists() for mark in _MARKS)

    def require_unused(self) -> None:
        """Refuse a folder that holds a run, or that nothing could be written into.

        Raises:
            UsageError: It does, and its name was asked for; or it cannot be written.
        """
        require_writable(self.path)
        # Where it is: a run of the same second has it; another name is found by the claim.
        if self._is_own or self._is_free_choice:
            return
        if self.holds_a_run() and not self._failed_before_its_first_step():
            raise UsageError(
                f"output {self.path} holds a run already; go on with it by --resume, or choose "
                "another folder by --output"
            )

    def _failed_before_its_first_step(self) -> bool:
        """Say whether there is nothing in it that a new run could lose."""
        rows = self.path / "metrics.jsonl"
        if self.checkpoints.paths() or (rows.exists() and rows.stat().st_size):
            return False
        try:
            status = json.loads((self.path / "status.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(status.get("state") == "failed" and status.get("step") == 0)

    def write_start(
        self,
        config: Config,
        components: Sequence[ComponentRef],
        facts: RunFacts | None = None,
    ) -> None:
        """Write what the run is: resolved config, components, environment, data, git.

        What an earlier part of the run wrote, and what differs now, is kept under a number.

        Args:
            config: The resolved configuration.
            components: What the run uses.
            facts: What a training is made of besides; None for what is none.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        files = {file: self._keep_plugin_file(file) for file in plugin_files()}
        found = environment(components, files) if facts is None else facts.environment(files)
        texts: dict[str, str | None] = {
            "config.yaml": dump_config(config),
            "components.json": _json([asdict(ref) for ref in components]),
            "env.json": _json(found),
            **({} if facts is None else facts.files()),
        }
        self._keep_earlier(texts)
        for name, text in texts.items():
            if text is not None:
                write_text_atomically(self.path / name, text)

    def _keep_earlier(self, texts: Mapping[str, str | None]) -> None:
        """Keep what is about to be replaced by something else, as ``env.1.json`` and so on."""
        number = 1
        while any((self.path / _numbered(name, number)).exists() for name in texts):
            number += 1
        for name, text in texts.items():
            path, kept = self.path / name, self.path / _numbered(name, number)
            if not path.exists():
                continue
            if text is None:
                path.replace(kept)
            elif (content := path.read_bytes()) != text.encode():
                write_bytes_atomically(kept, content)

    def _keep_plugin_file(self, file: PluginFile) -> str:
        """Copy local code, without which the run cannot be understood; say where to."""
        path = file.path
        for name in (path.name, f"{path.stem}.{file.sha256[:12]}{path.suffix}"):
            target = self.path / "plugins" / name
            # Another content is that of an earlier part of the run.
            if not target.exists() or target.read_bytes() == file.content:
                break
        # Not from the disk, where it may have been edited since it was imported.
        write_bytes_atomically(target, file.content)
        return target.relative_to(self.path).as_posix()

    def write_status(self, state: str, **facts: object) -> None:
        """Write ``status.json``: how the run stands, for scripts and for other processes.

        On a full disk it is written over the one that is there: what it says last shall be true.

        Raises:
            OSError: That is not possible either.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        content = _json({"state": state, "time": now, "pid": os.getpid(), **facts}).encode()
        path = self.path / "status.json"
        try:
            write_bytes_atomically(path, content)
        except OSError as error:
            try:
                overwrite(path, content)
            except OSError:
                raise error from None


def default_parent(config: Config) -> Path:
    """Return the folder that runs of a recipe without an output of its own go to."""
    return Path("runs") / config.name


def find_latest_run(config: Config) -> Path | None:
    """Return the run folder of a recipe whose checkpoint is the newest, or None.

    With ``output`` set it is that folder, whatever is in it.
    """
    if config.output is not None:
        return Path(config.output).expanduser()
    parent = default_parent(config)
    folders = [p for p in parent.iterdir() if p.is_dir()] if parent.is_dir() else []
    newest = [
        (checkpoints[0].stat().st_mtime, folder)
        for folder in folders
        if (checkpoints := RunFolder(folder).checkpoints.paths())
    ]
    return max(newest)[1] if newest else None


def _numbered(name: str, number: int) -> str:
    stem, _, suffix = name.partition(".")
    return f"{stem}.{number}.{suffix}"


def _json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
