"""A hook that moves the global random state would change the run it looks at; that is found."""

from __future__ import annotations

import functools
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.engine.hooks.hook_layers import Function, HookFaultError, Place
from reid_core.plugins.origin import origin_of

#: Hooks around a step, which a run shall not depend on unless it says so.
WATCHED = ("before_step", "after_backward", "after_step", "should_stop", "on_log")
#: Steps of each run that are watched; comparing takes tens of microseconds a call.
WATCHED_STEPS = 10


class RandomWatch:
    """Compares the random states of torch (on the host) and NumPy around each watched call.

    A state that was moved is put back, so that a run which goes on, without an observer that did
    it, is the run without that observer. Python's own generator is left out: threads of other
    libraries draw from it at any time. A hook that is part of the training, and draws on purpose,
    says ``uses_random = True``.
    """

    def __init__(self) -> None:
        # Calls of hooks that may draw; one inside of another hook's call excuses that one.
        self._allowed_calls = 0

    def surround(self, place: Place, function: Function) -> Function | None:
        """Watch an implementation."""
        if place.implementation.hook not in WATCHED or place.implementation.is_wrapper:
            return None
        if getattr(place.instance, "uses_random", False) is True:
            return self._allowed(function)
        return self._watched(place, function)

    def _allowed(self, function: Function) -> Function:
        @functools.wraps(function)
        def allowed(*arguments: object) -> object:
            self._allowed_calls += 1
            return function(*arguments)

        return allowed

    def _watched(self, place: Place, function: Function) -> Function:
        @functools.wraps(function)
        def watched(*arguments: object) -> object:
            before, allowed = _State(), self._allowed_calls
            moved: list[str] = []
            try:
                result = function(*arguments)
            finally:
                if allowed == self._allowed_calls:
                    moved = before.restore()
            if moved:
                raise HookFaultError(_message(place, moved), place.id, place.implementation.hook)
            return result

        return watched


class _State:
    """The global random states at one moment."""

    def __init__(self) -> None:
        self._torch = torch.get_rng_state()
        self._numpy = _numpy_state()

    def restore(self) -> list[str]:
        """Put back what was moved since, and say which."""
        moved = []
        if not torch.equal(self._torch, torch.get_rng_state()):
            torch.set_rng_state(self._torch)
            moved.append("torch")
        if not _are_equal(self._numpy, _numpy_state()):
            np.random.set_state(self._numpy)
            moved.append("NumPy")
        return moved


_NumpyState = tuple[str, NDArray[np.uint32], int, int, float]


def _numpy_state() -> _NumpyState:
    return cast("_NumpyState", np.random.get_state(legacy=True))


def _are_equal(one: _NumpyState, other: _NumpyState) -> bool:
    return np.array_equal(one[1], other[1]) and one[2:] == other[2:]


def _message(place: Place, moved: list[str]) -> str:
    return (
        f"hook {place.id!r} ({origin_of(place.instance)}) changed the global random state of "
        f"{' and '.join(moved)} in {place.implementation.hook}, so a run with it differs from one "
        "without it; draw from a generator of its own (torch.Generator(), "
        "numpy.random.default_rng()), or, if it is part of the training, say uses_random = True in "
        "its class"
    )
