"""A training framework for re-identification models, extended by installed plugin packages.

Public names are imported on first use, so that ``import reid_core`` costs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_core.config import Config, load_config
    from reid_core.contracts import Batch, HeadOutput, ReidModel, TrainOutput
    from reid_core.data.manifest import Manifest
    from reid_core.engine import (
        DefaultTrainer,
        EventStorage,
        HookBase,
        Outcome,
        SimpleTrainer,
        StepResult,
        TrainerBase,
    )
    from reid_core.errors import ReidError
    from reid_core.hookspecs import hookimpl
    from reid_core.plugins import PLUGIN_API, Registry

__all__ = [
    "PLUGIN_API",
    "Batch",
    "Config",
    "DefaultTrainer",
    "EventStorage",
    "HeadOutput",
    "HookBase",
    "Manifest",
    "Outcome",
    "Registry",
    "ReidError",
    "ReidModel",
    "SimpleTrainer",
    "StepResult",
    "TrainOutput",
    "TrainerBase",
    "hookimpl",
    "load_config",
]

_HOMES = {
    "PLUGIN_API": "reid_core.plugins",
    "Batch": "reid_core.contracts",
    "Config": "reid_core.config",
    "DefaultTrainer": "reid_core.engine",
    "EventStorage": "reid_core.engine",
    "HeadOutput": "reid_core.contracts",
    "HookBase": "reid_core.engine",
    "Manifest": "reid_core.data.manifest",
    "Outcome": "reid_core.engine",
    "Registry": "reid_core.plugins",
    "ReidError": "reid_core.errors",
    "ReidModel": "reid_core.contracts",
    "SimpleTrainer": "reid_core.engine",
    "StepResult": "reid_core.engine",
    "TrainOutput": "reid_core.contracts",
    "TrainerBase": "reid_core.engine",
    "hookimpl": "reid_core.hookspecs",
    "load_config": "reid_core.config",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib_metadata import version

        return version("reid-core")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'reid_core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
