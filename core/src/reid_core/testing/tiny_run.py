"""A whole training run in a second: a data set, a model and a trainer without a plugin."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from reid_core.config import Config
from reid_core.config.load import validate
from reid_core.config.nodes import Origin
from reid_core.config.overrides import apply_overrides, node_of
from reid_core.config.schema import DEFAULT_HOOKS
from reid_core.contracts import Batch, ReidModel
from reid_core.engine import DefaultTrainer, StepResult
from reid_core.hookspecs import hookimpl
from reid_core.testing.market import write_tiny_market
from reid_core.testing.tiny_model import tiny_model
from reid_core.testing.watched_hook import Watch, watch

#: The id of the hook under test.
HOOK_ID = "under_test"


class PlannedError(RuntimeError):
    """What ends a run that is meant to fail."""


@dataclass(frozen=True)
class TinyRun:
    """A run of 2 epochs with 4 steps each and an evaluation after each of them.

    Args:
        hook: Qualified name of a hook that the run lists; empty for none.
        parameters: The hook's parameters.
        settings: Further settings, by dotted path.
    """

    hook: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    def config(self, folder: Path) -> Config:
        """Return the configuration; data and run folder lie in ``folder``."""
        data = folder / "data"
        if not data.is_dir():
            write_tiny_market(data)
        mine = {**self.parameters, "name": self.hook, "id": HOOK_ID}
        # A default hook under test would act twice.
        others = [name for name in DEFAULT_HOOKS if self.hook != f"reid-core/{name}"]
        plain: dict[str, object] = {
            "output": str(folder / "run"),
            "device": "cpu",
            "model": {"name": "reid-core/baseline"},
            "data": {
                "train": [{"name": "reid-core/market1501", "root": str(data)}],
                "image_size": [32, 16],
                "batch": {"sampler": "reid-core/identity", "identities": 3, "instances": 4},
                "workers": 0,
            },
            "train": {
                "epochs": 2,
                "optimizer": {"name": "reid-core/adam", "lr": 0.01},
                "schedule": {"name": "reid-core/constant"},
                "log_every": 2,
            },
            "evaluate": {"every": 1, "protocol": {"name": "reid-core/market1501"}},
            "hooks": [mine] if self.hook else [],
            "default_hooks": [{"name": f"reid-core/{name}", "id": name} for name in others],
        }
        return validate(apply_overrides(node_of(plain, Origin("tiny run")), self.settings))


class TinyTrainer(DefaultTrainer):
    """The default trainer with a model of its own, so that no plugin is needed.

    Args:
        config: The configuration of a :class:`TinyRun`.
        fails_at: Step that raises :class:`PlannedError`; -1 fails before the first one, in the
            ``before_train`` of a hook that comes first.

    Attributes:
        watch: What the hook under test did that it should not do.
    """

    def __init__(self, config: Config, *, fails_at: int | None = None) -> None:
        self._fails_at = fails_at
        self.watch = Watch()
        super().__init__(config)

    def build_model(self) -> ReidModel:
        """Build the tiny model."""
        return tiny_model(self.label_map.num_classes)

    def build_hooks(self) -> list[tuple[str, object]]:
        """Build the hooks, the one under test being watched."""
        hooks = super().build_hooks()
        for key, hook in hooks:
            if key == HOOK_ID:
                watch(hook, self.watch)
        return [("broken_start", _BrokenStart()), *hooks] if self._fails_at == -1 else hooks

    def run_step(self, batch: Batch) -> StepResult:
        """Do one step, or fail as planned."""
        if self.iter == self._fails_at:
            raise PlannedError(f"step {self.iter} fails on purpose")
        # Some training code draws from these; a hook that seeds them would go unseen otherwise.
        random.random()
        np.random.random()
        return super().run_step(batch)


class _BrokenStart:
    """A hook that fails before the first step."""

    @hookimpl(tryfirst=True)
    def before_train(self) -> None:
        raise PlannedError("before_train fails on purpose")
