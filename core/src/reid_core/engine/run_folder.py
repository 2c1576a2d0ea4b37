"""The folder of a run: what was asked, what it was made of, how it went."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from reid_core.checkpoint.atomic import write_bytes_atomically, write_text_atomically
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.config import Config
from reid_core.config.load import dump_config
from reid_core.errors import UsageError
from reid_core.plugins.index import ComponentRef
from reid_core.plugins.local_files import PluginFile, plugin_files
from reid_core.plugins.metadata import PLUGIN_API, installed_version

#: What :meth:`RunFolder.write_start` writes.
_START = ("config.yaml", "components.json", "env.json")

#: Files that show that a folder holds a run.
_MARKS = ("config.yaml", "checkpoints", "metrics.jsonl")


class RunFolder:
    """The files of one run; an existing run is never overwritten.

    Args:
        path: The folder; made when something is written.
        is_free_choice: Whether the name was made up here, so that another one would do as well.
    """

    def __init__(self, path: Path, *, is_free_choice: bool = False) -> None:
        self.path = path
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
            UsageError: It holds a run, and its name was asked for.
        """
        if not self._is_free_choice:
            self.require_unused()
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

    def holds_a_run(self) -> bool:
        """Say whether there is a run in it already."""
        return any((self.path / mark).exists() for mark in _MARKS)

    def require_unused(self) -> None:
        """Refuse a folder that holds a run.

        Raises:
            UsageError: It does.
        """
        if self.path.is_file():
            raise UsageError(f"output {self.path} is a file; expected a folder or a new name")
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

    def write_start(self, config: Config, components: Sequence[ComponentRef]) -> None:
        """Write what the run is: resolved config, components, environment.

        What an earlier part of the run wrote, and what differs now, is kept under a number.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        copies = {file.path: self._keep_plugin_file(file) for file in plugin_files()}
        texts = (
            dump_config(config),
            _json([asdict(ref) for ref in components]),
            _json(environment(components, copies)),
        )
        self._keep_earlier(dict(zip(_START, texts, strict=True)))
        for name, text in zip(_START, texts, strict=True):
            write_text_atomically(self.path / name, text)

    def _keep_earlier(self, texts: Mapping[str, str]) -> None:
        """Copy what is about to be replaced by something else, to ``env.1.json`` and so on."""
        number = 1
        while any((self.path / _numbered(name, number)).exists() for name in texts):
            number += 1
        for name, text in texts.items():
            path = self.path / name
            if path.exists() and (content := path.read_bytes()) != text.encode():
                write_bytes_atomically(self.path / _numbered(name, number), content)

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
        """Write ``status.json``: how the run stands, for scripts and for other processes."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        status = {"state": state, "time": now, "pid": os.getpid(), **facts}
        write_text_atomically(self.path / "status.json", _json(status))


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


def environment(
    components: Sequence[ComponentRef], copies: Mapping[Path, str]
) -> dict[str, object]:
    """Return versions and hardware, as plain types.

    Args:
        components: What the run uses.
        copies: Where in the run folder the copy of each file with local code is.
    """
    dists = sorted({ref.dist for ref in components} | {"torch", "torchvision", "numpy", "timm"})
    versions = {dist: installed_version(dist) for dist in dists}
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": str(accelerator or "cpu"),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "command": sys.argv,
        "plugin_api": PLUGIN_API,
        "plugin_files": [
            {"path": str(file.path), "sha256": file.sha256, "copy": copies[file.path]}
            for file in plugin_files()
        ],
        **{dist: version for dist, version in versions.items() if version},
    }
