"""An observer that changes what it looks at is no observer; that is found in the first steps."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch import nn

from reid_core.engine.hooks.hook_checks import is_observer
from reid_core.engine.hooks.hook_layers import Function, HookFaultError, Place
from reid_core.engine.hooks.random_watch import WATCHED
from reid_core.plugins.origin import origin_of


class ObserverWatch:
    """Compares the counters, which torch keeps of changes in place, of weights and gradients.

    A change through ``tensor.data`` is not counted, and not found.

    Args:
        model: Returns the model that is trained, or None where there is none.
    """

    def __init__(self, model: Callable[[], nn.Module | None]) -> None:
        self._model = model

    def surround(self, place: Place, function: Function) -> Function | None:
        """Watch an implementation of an observer."""
        name = place.implementation.hook
        if name not in WATCHED or not is_observer(place.instance):
            return None

        @functools.wraps(function)
        def watched(*arguments: object) -> object:
            before = self._versions()
            result = function(*arguments)
            if self._versions() != before:
                raise HookFaultError(
                    f"hook {place.id!r} ({origin_of(place.instance)}) says that it is an observer, "
                    f"and changes weights or gradients in {name}: the run would go on differently "
                    "once it is switched off; remove observer = True",
                    place.id,
                    name,
                )
            return result

        return watched

    def _versions(self) -> list[tuple[int, int, int]]:
        model = self._model()
        parameters = [] if model is None else list(model.parameters())
        return [
            (p._version, id(p.grad), -1 if p.grad is None else p.grad._version) for p in parameters
        ]
