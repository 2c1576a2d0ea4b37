"""What a sweep is: everything that ``reid-ray tune`` was asked for, kept beside its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.config import Config
from reid_core.errors import UsageError
from reid_plugin_ray.tuning.space import Space, space_from_plain
from reid_plugin_ray.tuning.trial_config import config_with

Scheduler: TypeAlias = Literal["asha", "none"]
Mode: TypeAlias = Literal["max", "min"]

_FILE = "sweep.json"


@dataclass(frozen=True)
class SweepRequest:
    """A sweep.

    Args:
        source: The recipe: a name, or the full path of a file.
        settings: Dotted paths that were set by ``--set``.
        config: The resolved configuration of all trials, as plain types.
        space: What is drawn, as plain types.
        metric: What trials are compared by.
        mode: Whether more of it is better.
        samples: Draws; each runs all combinations of the grids.
        seed: Seed of the draws.
        scheduler: ``asha`` ends trials early that are worse than others at the same epoch.
        grace: Epochs before it ends any.
        concurrent: Trials at a time; None is as many as there is room for.
        cpus: CPUs a trial.
        gpus: GPUs a trial.
        folder: Full path of the folder that relative paths start from.
        restarts: How often a trial whose process died is gone on with.
        plugin_files: Full paths of Python files that every trial runs first.
    """

    source: str
    settings: tuple[str, ...]
    config: Mapping[str, object]
    space: Mapping[str, object]
    metric: str
    mode: Mode
    samples: int
    seed: int
    scheduler: Scheduler
    grace: int
    concurrent: int | None
    cpus: float
    gpus: float
    folder: str
    restarts: int
    plugin_files: tuple[str, ...] = ()

    def write(self, output: Path) -> None:
        """Keep it in the folder of the sweep."""
        text = json.dumps({"schema": 1, **asdict(self)}, indent=2, ensure_ascii=False)
        write_text_atomically(output / _FILE, text + "\n")

    @classmethod
    def read(cls, output: Path) -> SweepRequest:
        """Read it from the folder of a sweep.

        Raises:
            UsageError: The folder holds none.
        """
        path = output / _FILE
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"--resume: {output} holds no sweep ({path}: {error}); name its folder by --output"
            ) from error
        plain.pop("schema")
        for name in ("settings", "plugin_files"):
            plain[name] = tuple(plain[name])
        return cls(**plain)

    @property
    def distributions(self) -> Space:
        """What is drawn."""
        return space_from_plain(self.space, source=_FILE)

    @property
    def num_trials(self) -> int:
        """Trials of the whole sweep."""
        return self.samples * self.distributions.grid_size

    @property
    def base(self) -> Config:
        """The configuration of all trials."""
        return config_with(self.config, {}, source=_FILE)


def holds_sweep(output: Path) -> bool:
    """Say whether a folder is that of a sweep."""
    return (output / _FILE).exists()
