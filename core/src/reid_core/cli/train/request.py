"""What a command line of ``reid-train`` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reid_core.config import Config


@dataclass(frozen=True)
class TrainRequest:
    """What shall be trained, and how it is watched.

    Args:
        config: The configuration, every option in it that is a setting.
        resume: What to go on with; None starts anew.
        changes: What a resumed run does with a changed configuration; None is to be asked.
        verbose: Whether debug lines are shown.
        trace_hooks: Whether each call of a hook is logged.
        profile: Whether the time of a few steps is measured.
        hooks: Further hooks, called after those of the configuration.
    """

    config: Config
    resume: str | None = None
    changes: Literal["use", "drop"] | None = None
    verbose: bool = False
    trace_hooks: bool = False
    profile: bool = False
    hooks: tuple[object, ...] = ()
