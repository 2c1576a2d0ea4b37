"""A stand-in for a hook, whose implementations are surrounded by something of ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pluggy

from reid_core.engine.hooks.implementations import Implementation, implementations
from reid_core.errors import PluginError

#: A bound implementation of a hook, as pluggy calls it: with positional arguments.
Function = Callable[..., object]


class HookFaultError(PluginError):
    """A hook does what it may not do.

    Args:
        message: What, and what to do.
        hook_id: The hook's id.
        method: The hook it was doing it in, such as ``after_step``.
    """

    def __init__(self, message: str, hook_id: str = "", method: str = "") -> None:
        super().__init__(message)
        self.hook_id = hook_id
        self.method = method


@dataclass(frozen=True)
class Place:
    """An implementation in a run.

    Args:
        id: The hook's id.
        instance: The hook itself.
        implementation: The method.
    """

    id: str
    instance: object
    implementation: Implementation


class Layer(Protocol):
    """Something that surrounds implementations: a guard, a watch, a clock."""

    def surround(self, place: Place, function: Function) -> Function | None:
        """Return what is called instead of ``function``, or None to leave it as it is.

        What is returned carries ``functools.wraps``, by which pluggy knows the arguments. Of a
        wrapper ``function`` is a generator function, and so must be the result.
        """
        ...


class StandIn:
    """What is registered in place of a hook.

    Args:
        functions: By method name.
        options: pluggy's options, by method name.
    """

    def __init__(
        self, functions: dict[str, Function], options: dict[str, pluggy.HookimplOpts]
    ) -> None:
        vars(self).update(functions)
        self.implementation_options = options


def surrounded(id_: str, hook: object, layers: Sequence[Layer]) -> object:
    """Return the hook itself where no layer acts on it, otherwise a stand-in.

    Args:
        id_: The hook's id.
        hook: The hook.
        layers: The first one is the innermost.
    """
    functions: dict[str, Function] = {}
    options: dict[str, pluggy.HookimplOpts] = {}
    is_changed = False
    for implementation in implementations(hook):
        function: Function = getattr(hook, implementation.method)
        for layer in layers:
            changed = layer.surround(Place(id_, hook, implementation), function)
            if changed is not None:
                assert inspect.isfunction(changed)
                function, is_changed = changed, True
        functions[implementation.method] = function
        options[implementation.method] = implementation.options
    return StandIn(functions, options) if is_changed else hook
