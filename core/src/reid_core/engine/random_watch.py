"""A hook that moves the global random state would change the run it looks at; that is found."""

from __future__ import annotations

import functools

import numpy as np
import torch

from reid_core.engine.hook_blame import origin_of
from reid_core.engine.hook_layers import Function, Place
from reid_core.errors import PluginError

#: Hooks around a step, which a run shall not depend on unless it says so.
WATCHED = ("before_step", "after_backward", "after_step", "should_stop", "on_log")
#: Steps of each run that are watched; comparing states takes a few microseconds a call.
WATCHED_STEPS = 10


class RandomWatch:
    """Compares the random states of torch (on the host) and NumPy around each watched call.

    Python's own generator is left out: threads of other libraries draw from it at any time. A hook
    that is part of the training, and draws on purpose, says ``uses_random = True``.
    """

    def surround(self, place: Place, function: Function) -> Function | None:
        """Watch an implementation."""
        name = place.implementation.hook
        if name not in WATCHED or place.implementation.is_wrapper:
            return None
        if getattr(place.instance, "uses_random", False) is True:
            return None

        @functools.wraps(function)
        def watched(*arguments: object) -> object:
            torch_state, numpy_state = torch.get_rng_state(), _numpy_state()
            result = function(*arguments)
            moved = [] if torch.equal(torch_state, torch.get_rng_state()) else ["torch"]
            moved += [] if numpy_state == _numpy_state() else ["NumPy"]
            if moved:
                raise PluginError(
                    f"hook {place.id!r} ({origin_of(place.instance)}) changed the global random "
                    f"state of {' and '.join(moved)} in {name}, so a run with it differs from one "
                    "without it; draw from a generator of its own (torch.Generator(), "
                    "numpy.random.default_rng()), or, if it is part of the training, say "
                    "uses_random = True in its class"
                )
            return result

        return watched


def _numpy_state() -> tuple[bytes, int, int, float]:
    _, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return np.asarray(keys).tobytes(), int(position), int(has_gauss), float(gauss)
