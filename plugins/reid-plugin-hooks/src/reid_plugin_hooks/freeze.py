"""Parts of the model that stay as they are while the rest begins to learn."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torch import nn

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_core.optim.frozen import FrozenStatistics
from reid_plugin_hooks.rehearsal import rehearse

if TYPE_CHECKING:
    from reid_core import DefaultTrainer
    from reid_core.contracts import Batch

log = logging.getLogger("reid_core")

#: More near names than this are no help in a message.
_MAX_NEAR = 3


class Freeze:
    """Freezes modules for the first steps of a run.

    Frozen parameters get no gradient, so neither momentum nor weight decay moves them, and the part
    of the network before them costs no backward pass. Running statistics in frozen modules stand
    still as well. Dropout and the like work as in training. Afterwards everything is as it was.

    What is frozen depends on the step alone, so a resumed run goes on rightly. Several of these
    hooks, each with an id, release a model bit by bit. Before the first frozen step one with
    everything trained is tried out and taken back, so that memory does not run out at the release.

    Args:
        modules: Patterns of names of modules, with everything below them, or of single parameters:
            ``backbone``, ``backbone.layer[12]``.
        steps: Steps until the release, at least 1.
        epochs: The same in epochs; give one of the two.
        dry_run: Whether the first step of a run, or of a resumed part of it, tries one out with
            everything trained. It changes nothing but takes that step's time.

    Raises:
        ConfigError: No pattern is given, or not one of ``steps`` and ``epochs``, or it is below 1.
    """

    needs_whole_weights = True

    def __init__(
        self,
        *,
        modules: Sequence[str],
        steps: int | None = None,
        epochs: int | None = None,
        dry_run: bool = True,
    ) -> None:
        if not modules:
            raise ConfigError(
                "hook freeze: modules is empty; expected names of modules: [backbone]"
            )
        length = steps if epochs is None else epochs
        if length is None or (steps is not None and epochs is not None) or length < 1:
            raise ConfigError(
                f"hook freeze: steps is {steps}, epochs is {epochs}; expected one of them, at "
                "least 1 (train.optimizer.frozen freezes for a whole run)"
            )
        self._patterns = tuple(modules)
        self._steps = steps
        self._epochs = epochs
        self._part: _Part | None = None
        self._is_frozen = False
        self._is_rehearsed = not dry_run

    @hookimpl(tryfirst=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Find what is meant and how it is, before any hook of this kind has frozen something.

        Raises:
            ConfigError: A pattern matches nothing, or nothing would be left to train.
        """
        if self._part is None:
            self._part = _find(trainer.model, self._patterns)

    @hookimpl(specname="before_train")
    def begin(self, trainer: DefaultTrainer) -> None:
        """Freeze before anything looks at the model, unless the time is over."""
        assert self._part is not None
        end = self._end(trainer)
        self._is_frozen = trainer.iter < end
        if self._is_frozen:
            self._part.freeze()
            log.info("hook freeze: %s until step %d", self._part.describe(self._patterns), end)

    @hookimpl(tryfirst=True)
    def before_step(self, trainer: DefaultTrainer, step: int) -> None:
        """Release, before another hook of this kind freezes what is its own."""
        if self._is_frozen and step >= self._end(trainer):
            assert self._part is not None
            self._part.release()
            self._is_frozen = False
            log.info("hook freeze: %s released at step %d", ", ".join(self._patterns), step)

    @hookimpl(specname="before_step", trylast=True)
    def hold(self, trainer: DefaultTrainer, batch: Batch) -> None:
        """Freeze what a call of ``model.train()`` or another hook may have woken."""
        if not self._is_frozen:
            return
        assert self._part is not None
        if not self._is_rehearsed:
            self._part.release()
            rehearse(trainer, batch, self._part.parameters)
            log.info("hook freeze: memory suffices for a step after the release")
        self._is_rehearsed = True
        self._part.freeze()

    def _end(self, trainer: DefaultTrainer) -> int:
        if self._steps is not None:
            return self._steps
        assert self._epochs is not None
        return self._epochs * len(trainer.data_loader)


@dataclass(frozen=True)
class _Part:
    """Part of a model, and how it was.

    Args:
        parameters: Those of them that are trained.
        layers: Layers with running statistics.
        modes: Whether each of these was in training mode.
    """

    parameters: tuple[nn.Parameter, ...]
    layers: tuple[nn.Module, ...]
    modes: tuple[bool, ...]

    def freeze(self) -> None:
        for parameter in self.parameters:
            if parameter.requires_grad:
                parameter.requires_grad_(False)
                # Without a gradient an optimizer leaves it alone, weight decay included.
                parameter.grad = None
        FrozenStatistics(self.layers).hold()

    def release(self) -> None:
        for parameter in self.parameters:
            parameter.requires_grad_(True)
        for layer, is_training in zip(self.layers, self.modes, strict=True):
            layer.training = is_training

    def describe(self, patterns: Sequence[str]) -> str:
        return (
            f"{', '.join(patterns)} frozen ({len(self.parameters)} parameter tensors, statistics "
            f"of {len(self.layers)} layers)"
        )


def _find(model: nn.Module, patterns: Sequence[str]) -> _Part:
    """Find what patterns mean.

    Raises:
        ConfigError: A pattern matches nothing, or nothing would be left to train.
    """
    # A module or parameter that is used in two places has two names.
    modules = dict(model.named_modules(remove_duplicate=False))
    parameters = dict(model.named_parameters(remove_duplicate=False))
    names = [name for name in (*modules, *parameters) if name]
    roots = {name for pattern in patterns for name in _matching(names, pattern)}
    trained = [p for p in model.parameters() if p.requires_grad]
    meant = {id(p) for name, p in parameters.items() if _is_below(name, roots)}
    chosen = tuple(p for p in trained if id(p) in meant)
    if len(chosen) == len(trained):
        raise ConfigError(
            f"hook freeze: modules {list(patterns)} are all that is trained, so nothing would learn"
        )
    layers = {
        id(m): m
        for name, m in modules.items()
        if _is_below(name, roots) and getattr(m, "running_mean", None) is not None
    }
    return _Part(chosen, tuple(layers.values()), tuple(m.training for m in layers.values()))


def _is_below(name: str, roots: set[str]) -> bool:
    """Say whether a name is one of the roots or lies in one."""
    parts = name.split(".")
    return any(".".join(parts[:end]) in roots for end in range(1, len(parts) + 1))


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        near = difflib.get_close_matches(pattern, names, n=_MAX_NEAR, cutoff=0.5)
        near = near or list(dict.fromkeys(name.partition(".")[0] for name in names))
        raise ConfigError(
            f"hook freeze: modules: {pattern!r} matches no module or parameter of the model; near "
            f"it: {', '.join(near)}"
        )
    return found
