"""Where the time of a step goes: data, forward, backward, update, hooks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch.utils.hooks import RemovableHandle

from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

#: Steps whose mean says something; a single one may be slow by chance.
_ENOUGH = 5

#: The parts of a step, in their order, and what each of them is.
PARTS = {
    "data": "waiting for the batch",
    "forward": "the model and its losses",
    "backward": "the gradients",
    "update": "clipping and the optimizer",
    "hooks": "all hooks of a step",
}


class StepTimes:
    """Adds up the time of the parts of some steps.

    On a GPU each part is waited for, so the steps that are measured are slower than others. Of a
    compiled model forward and backward are one: they are all in ``backward``.

    Args:
        first: First step of this process that is measured, from 0.
        last: The last one.

    Attributes:
        num_steps: Steps that were measured.
        seconds: Sum of each part over them.
    """

    first_process_only = True

    def __init__(self, *, first: int, last: int) -> None:
        self._wanted = range(first, last + 1)
        self.num_steps = 0
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._handles: list[RemovableHandle] = []
        self._is_on = False
        self._since = self._forward_since = 0.0

    @hookimpl(trylast=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Listen to the model."""
        if trainer.config.train.compile:
            return
        device = trainer.device
        self._handles = [
            trainer.model.register_forward_pre_hook(lambda *_: self._enter(device)),
            trainer.model.register_forward_hook(lambda *_: self._leave(device)),
        ]

    @hookimpl(trylast=True)
    def before_epoch(self, trainer: DefaultTrainer) -> None:
        """Begin to wait for the first batch; an evaluation may lie before."""
        self._since = _now(trainer.device)

    @hookimpl(wrapper=True)
    def before_step(self, trainer: DefaultTrainer, step: int) -> Iterator[None]:
        """The batch is there; the time of the hooks begins."""
        self._is_on = step - trainer.start_iter in self._wanted
        self._take("data", trainer.device)
        result = yield
        self._take("hooks", trainer.device)
        return result

    @hookimpl(wrapper=True)
    def after_backward(self, trainer: DefaultTrainer) -> Iterator[None]:
        """The gradients are there."""
        self._take("backward", trainer.device)
        result = yield
        self._take("hooks", trainer.device)
        return result

    @hookimpl(wrapper=True)
    def after_step(self, trainer: DefaultTrainer) -> Iterator[None]:
        """The weights are updated."""
        self._take("update", trainer.device)
        result = yield
        self._take("hooks", trainer.device)
        self.num_steps += self._is_on
        self._is_on = False
        return result

    @hookimpl
    def after_train(self) -> None:
        """Leave the model alone."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def lines(self) -> list[str]:
        """Say where the time went, the mean of the steps; nothing where none was measured."""
        if not self.num_steps:
            return []
        mean = {name: 1000 * spent / self.num_steps for name, spent in self.seconds.items()}
        whole = sum(mean.values())
        heading = f"where the time of a step goes (mean of {_steps(self.num_steps)}, milliseconds)"
        rows = [
            f"  {name:<9} {spent:>9.2f} {spent / whole:>6.1%}  {PARTS[name]}"
            for name, spent in mean.items()
        ]
        return [heading, *rows, f"  {'step':<9} {whole:>9.2f}"]

    def _take(self, part: str, device: torch.device) -> None:
        if self._is_on:
            now = _now(device)
            self.seconds[part] += now - self._since
            self._since = now
        elif part == "hooks":
            self._since = time.perf_counter()

    def _enter(self, device: torch.device) -> None:
        if self._is_on:
            self._forward_since = _now(device)

    def _leave(self, device: torch.device) -> None:
        if self._is_on:
            spent = _now(device) - self._forward_since
            self.seconds["forward"] += spent
            # What lies around the forward passes until the gradients are there is the rest.
            self._since += spent


def _steps(number: int) -> str:
    if number >= _ENOUGH:
        return f"{number} steps"
    return f"{number} {'step' if number == 1 else 'steps'}, which is few: epochs are short"


def _now(device: torch.device) -> float:
    """Return the time at which the device has done all it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
