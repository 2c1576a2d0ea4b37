"""The hooks of one trainer: registered in call order, called through pluggy."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import pluggy
from torch import nn

from reid_core.engine.hooks.hook_base import HookBase
from reid_core.engine.hooks.hook_blame import Culprit, find_culprit, note_culprit
from reid_core.engine.hooks.hook_calls import HookCalls
from reid_core.engine.hooks.hook_checks import check_hook, check_steps, require_plain
from reid_core.engine.hooks.hook_layers import HookFaultError, Layer, StandIn, surrounded
from reid_core.engine.hooks.hook_trace import HookTrace
from reid_core.engine.hooks.implementations import PLAIN, is_overridden
from reid_core.engine.hooks.observer_watch import ObserverWatch
from reid_core.engine.hooks.observers import ObserverGuard
from reid_core.engine.hooks.random_watch import WATCHED_STEPS, RandomWatch
from reid_core.errors import PluginError
from reid_core.hookspecs import PROJECT, HookSpecs
from reid_core.plugins.origin import origin_of

if TYPE_CHECKING:
    from reid_core.config import Config, ConfigProblem
    from reid_core.contracts import Batch
    from reid_core.engine.outcome import Outcome
    from reid_core.engine.trainer_base import TrainerBase

log = logging.getLogger("reid_core")

#: Id of the hook that does the step when no other one does.
DEFAULT_STEP = "default_step"


@runtime_checkable
class Stateful(Protocol):
    """A hook whose state belongs into the checkpoint."""

    def state_dict(self) -> dict[str, object]:
        """Return the state as tensors and plain types."""
        ...

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the state back."""
        ...


@dataclass(frozen=True)
class _Registered:
    id: str
    hook: object


class _Pluggy(pluggy.PluginManager):
    """Also takes the overridden methods of a :class:`HookBase`, and what stands in for a hook."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, StandIn):
            return plugin.implementation_options.get(name)
        options = super().parse_hookimpl_opts(plugin, name)
        return PLAIN if options is None and is_overridden(type(plugin), name) else options


class HookManager(HookCalls):
    """Holds the hooks of one trainer and calls them in the order they were added.

    Each hook has a unique id, under which its state is saved. ``tryfirst`` hooks go before that
    order, ``trylast`` hooks after it, wrappers around all. A hook that calls itself an observer is
    switched off when it fails; any other one that fails ends the run.
    """

    def __init__(self) -> None:
        self._hooks: list[_Registered] = []
        self._guard = ObserverGuard(self.culprit)
        self._watch = RandomWatch()
        self._steps_to_watch = 0
        self._trace: HookTrace | None = None
        self._manager = self._new_manager()
        self._trainer: weakref.ref[TrainerBase] | None = None
        # State of hooks that are registered only after it was loaded.
        self._unclaimed: dict[str, object] = {}

    def add(self, hook: object, id: str | None = None) -> None:  # noqa: A002 — the config's word
        """Add one hook after the others.

        Args:
            hook: An object with marked methods, or a :class:`HookBase`.
            id: Its id; the class name by default, numbered when that is taken.

        Raises:
            PluginError: The id is taken, a method is misspelt, asks for an argument that does not
                exist, or has a default.
        """
        self.extend([(id, hook)])

    def extend(self, hooks: Sequence[tuple[str | None, object]]) -> None:
        """Add several hooks, as (id or None, hook), after the others and in their order."""
        known = list(self._hooks)
        for wanted, hook in hooks:
            taken = {entry.id for entry in known}
            if wanted is not None and wanted in taken:
                raise PluginError(f"hook id {wanted!r} is used twice; give one of them another id")
            check_hook(hook)
            known.append(_Registered(wanted or _free_id(type(hook).__name__, taken), hook))
        check_steps([(entry.id, entry.hook) for entry in known], DEFAULT_STEP)
        self._manager = self._register(known)
        added = known[len(self._hooks) :]
        self._hooks = known
        trainer = self._trainer() if self._trainer is not None else None
        if trainer is not None:
            self.bind(trainer)
        for entry in added:
            self._restore(entry.id, entry.hook)

    def remove(self, id: str) -> object:  # noqa: A002 — the config's word
        """Take a hook out and return it; a call that is going on still reaches it.

        Raises:
            KeyError: No hook has that id.
        """
        for entry in self._hooks:
            if entry.id == id:
                self._hooks = [other for other in self._hooks if other is not entry]
                self._manager = self._register(self._hooks)
                return entry.hook
        raise KeyError(f"no hook with id {id!r}; there are {[e.id for e in self._hooks]}")

    def bind(self, trainer: TrainerBase) -> None:
        """Give every :class:`HookBase`, also a later one, its weak reference to the trainer."""
        self._trainer = weakref.ref(trainer)
        for entry in self._hooks:
            if isinstance(entry.hook, HookBase):
                entry.hook.trainer = weakref.proxy(trainer)

    def stop_for(self, ids: Collection[str]) -> None:
        """Let these hooks end the run when they fail, although they call themselves observers."""
        self._guard = ObserverGuard(self.culprit, ids)
        self._manager = self._register(self._hooks)

    def watch_random_state(self) -> None:
        """Find out during the next steps whether a hook moves the global random state.

        See :class:`RandomWatch`; it ends by itself.
        """
        # The count goes down before each step: one more, so that the last one is watched whole.
        self._steps_to_watch = WATCHED_STEPS + 1
        self._manager = self._register(self._hooks)

    def trace(self) -> HookTrace:
        """Log every call from now on, with its time; the sums are in what is returned."""
        self._trace = HookTrace(self._current_step)
        self._manager = self._register(self._hooks)
        return self._trace

    def _current_step(self) -> int:
        trainer = self._trainer() if self._trainer is not None else None
        return 0 if trainer is None else trainer.iter

    def _current_model(self) -> nn.Module | None:
        trainer = self._trainer() if self._trainer is not None else None
        model = getattr(trainer, "model", None)
        return model if isinstance(model, nn.Module) else None

    def culprit(self, error: BaseException) -> Culprit | None:
        """Return the hook that an exception came out of, or None where it was no hook.

        The default step is none: what fails in there is the training itself.
        """
        if isinstance(error, HookFaultError):
            # It was raised around the hook, not in it.
            origin = origin_of(dict(self.items()).get(error.hook_id))
            return Culprit(error.hook_id, error.method, origin)
        found = find_culprit(error, self.items())
        return None if found is None or found.id == DEFAULT_STEP else found

    def items(self) -> list[tuple[str, object]]:
        """Return (id, hook) in call order."""
        return [(entry.id, entry.hook) for entry in self._hooks]

    def state_dict(self, *, leave_out_broken: bool = False) -> dict[str, object]:
        """Return the state of every hook that has one, by id.

        Args:
            leave_out_broken: Whether a hook whose state cannot be had is left out with a warning;
                otherwise only an observer is, which is switched off.

        Raises:
            PluginError: A state holds something that a checkpoint could not be loaded with.
            Exception: What a hook raised, with a note that names it.
        """
        states: dict[str, object] = {}
        for id_, hook in self.items():
            # What a hook that was switched off would say of itself is worth nothing.
            if not isinstance(hook, Stateful) or id_ in self._guard.off:
                continue
            try:
                state = hook.state_dict()
                require_plain(state, f"the state of hook {id_!r} ({origin_of(hook)})")
            except Exception as error:
                if leave_out_broken:
                    log.warning("hook %r: its state is not saved: %r", id_, error)
                elif self._guard.may_be_switched_off(id_, hook):
                    self._guard.switch_off(id_, hook, "state_dict", error)
                else:
                    note_culprit(error, Culprit(id_, "state_dict", origin_of(hook)))
                    raise
            else:
                states[id_] = state
        return states

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Give each hook its state back; a hook without saved state starts afresh, and says so.

        State of a hook that is not there yet is kept for when it is registered.
        """
        self._unclaimed = dict(state)
        for id_, hook in self.items():
            if isinstance(hook, Stateful) and id_ not in state:
                log.warning("hook %s: the checkpoint holds no state of it; starts afresh", id_)
            self._restore(id_, hook)

    def warn_of_unclaimed_state(self) -> None:
        """Say whose saved state nobody took; call it once all hooks are there."""
        for id_ in sorted(self._unclaimed):
            log.warning(
                "hook %s: its state is in the checkpoint, but this run does not list it", id_
            )
        self._unclaimed = {}

    def _restore(self, id_: str, hook: object) -> None:
        if not isinstance(hook, Stateful) or id_ not in self._unclaimed:
            return
        try:
            hook.load_state_dict(cast("dict[str, object]", self._unclaimed.pop(id_)))
        except Exception as error:
            if not self._guard.may_be_switched_off(id_, hook):
                note_culprit(error, Culprit(id_, "load_state_dict", origin_of(hook)))
                raise
            self._guard.switch_off(id_, hook, "load_state_dict", error)

    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Call ``validate_config`` and join what the hooks found."""
        try:
            found = cast(
                "list[list[ConfigProblem] | None]",
                self._manager.hook.validate_config(config=config),
            )
        except Exception as error:
            culprit = self.culprit(error)
            if culprit is not None:
                note_culprit(error, culprit)
            raise
        return [problem for problems in found if problems for problem in problems]

    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Call ``before_step``."""
        if self._steps_to_watch:
            self._count_watched_step()
        super().before_step(trainer, step, batch)

    def on_exception(self, trainer: TrainerBase, exception: BaseException) -> list[BaseException]:
        """Call ``on_exception`` of every hook; return what the hooks themselves raised."""
        return self._call_all("on_exception", trainer=trainer, exception=exception)

    def after_train(self, trainer: TrainerBase, outcome: Outcome) -> list[BaseException]:
        """Call ``after_train`` of every hook; return what the hooks themselves raised."""
        return self._call_all("after_train", trainer=trainer, outcome=outcome)

    def _call_all(self, name: str, **arguments: object) -> list[BaseException]:
        # pluggy stops at the first implementation that raises; teardown must reach all of them,
        # also when one calls sys.exit() or is interrupted.
        caller: pluggy.HookCaller = getattr(self._manager.hook, name)
        hooks = dict(self.items())
        errors: list[BaseException] = []
        for implementation in reversed(caller.get_hookimpls()):
            values = [arguments[argument] for argument in implementation.argnames]
            try:
                implementation.function(*values)
            except BaseException as error:
                id_ = implementation.plugin_name
                error.add_note(f"raised by {Culprit(id_, name, origin_of(hooks[id_]))}")
                errors.append(error)
        return errors

    def _register(self, hooks: Sequence[_Registered]) -> _Pluggy:
        manager = self._new_manager()
        layers = self._layers()
        # pluggy calls the last registered first.
        for entry in reversed(hooks):
            try:
                manager.register(surrounded(entry.id, entry.hook, layers), name=entry.id)
            except (pluggy.PluginValidationError, ValueError) as error:
                raise PluginError(f"hook {entry.id!r}: {error}") from error
        return manager

    def _layers(self) -> list[Layer]:
        # The guard is outside the watch: an observer that moves the random state is switched off.
        # It is inside the other one: an observer that changes the weights ends the run.
        if self._steps_to_watch:
            layers: list[Layer] = [self._watch, self._guard, ObserverWatch(self._current_model)]
        else:
            layers = [self._guard]
        if self._trace is not None:
            layers.append(self._trace)
        return layers

    def _count_watched_step(self) -> None:
        self._steps_to_watch -= 1
        if self._steps_to_watch == WATCHED_STEPS - 1:
            # After the first step: what could not be saved is found before there is much to save.
            self.state_dict()
        if self._steps_to_watch == 0:
            self._manager = self._register(self._hooks)

    @staticmethod
    def _new_manager() -> _Pluggy:
        manager = _Pluggy(PROJECT)
        manager.add_hookspecs(HookSpecs)
        return manager


def _free_id(wanted: str, taken: set[str]) -> str:
    number = 1
    free = wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free
