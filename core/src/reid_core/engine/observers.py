"""A failing observer is switched off; the run goes on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Collection

from reid_core.engine.hook_blame import origin_of
from reid_core.engine.hook_checks import is_observer
from reid_core.engine.hook_layers import Function, Place
from reid_core.engine.outcome import Interrupted

log = logging.getLogger("reid_core")


class ObserverGuard:
    """Catches what observers raise, and stops calling one that failed.

    An observer is a hook whose class says ``observer = True``: a tracker, a progress bar. What it
    does changes no number of the run.

    Args:
        raising: Ids of observers that shall stop the run all the same.
    """

    def __init__(self, raising: Collection[str] = ()) -> None:
        self._raising = frozenset(raising)
        #: Ids of observers that failed.
        self.off: set[str] = set()

    def surround(self, place: Place, function: Function) -> Function | None:
        """Guard an implementation of an observer."""
        if not is_observer(place.instance) or place.id in self._raising:
            return None

        @functools.wraps(function)
        def guarded(*arguments: object) -> object:
            if place.id in self.off:
                return None
            try:
                return function(*arguments)
            except Interrupted:
                raise
            except Exception as error:
                self.off.add(place.id)
                _report(place, error)
                return None

        return guarded


def _report(place: Place, error: Exception) -> None:
    log.warning(
        "hook %r (%s) failed in %s and is switched off; the run goes on without it: %s "
        "(on_error=raise would have stopped the run)",
        place.id,
        origin_of(place.instance),
        place.implementation.hook,
        f"{type(error).__name__}: {error}" if str(error) else repr(error),
    )
    # For the log file; a terminal shows the line above.
    log.debug("hook %r failed", place.id, exc_info=error)
