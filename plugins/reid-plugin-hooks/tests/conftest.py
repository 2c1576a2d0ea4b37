from __future__ import annotations

import pytest
import torch

from reid_core.engine import Interrupted
from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import TinyRun, TinyTrainer


class InterruptAt:
    """Ends a run, as a signal does, after a number of steps."""

    def __init__(self, steps):
        self._steps = steps

    @hookimpl
    def after_step(self, trainer, step):
        if step + 1 == self._steps:
            trainer.request_stop(15)


class Trained(TinyTrainer):
    """The tiny trainer, which can be left after a number of steps and gone on with by a new one."""

    def run(self, *, until=None):
        self.resume_or_load("auto")
        if until is None:
            self.train()
            return self
        self.register_hooks([InterruptAt(until)])
        with pytest.raises(Interrupted):
            self.train()
        return self

    def hook(self, name):
        return dict(self.hooks.items())[name]


@pytest.fixture
def tiny(tmp_path):
    """Make a trainer of 2 epochs with 4 steps each, from hooks and settings by dotted path."""

    def make(*hooks, run="run", **settings):
        named = {key.replace("__", "."): value for key, value in settings.items()}
        plain = {"hooks": [dict(hook) for hook in hooks], "output": str(tmp_path / run), **named}
        return Trained(TinyRun(settings=plain).config(tmp_path))

    return make


@pytest.fixture
def require_equal():
    """Return a check that two states are the same, bit by bit, but for some keys."""

    def check(left, right, *, but=()):
        assert left.keys() == right.keys()
        for name, value in left.items():
            if not name.endswith(tuple(but) or "\0"):
                assert torch.equal(value, right[name]), name

    return check
