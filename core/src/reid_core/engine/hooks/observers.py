"""A failing observer is switched off; the run goes on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection

from reid_core.engine.hooks.hook_blame import Culprit
from reid_core.engine.hooks.hook_checks import is_observer
from reid_core.engine.hooks.hook_layers import Function, HookFaultError, Place
from reid_core.errors import Interrupted
from reid_core.plugins.origin import origin_of

log = logging.getLogger("reid_core")


class ObserverGuard:
    """Catches what observers raise, and stops calling one that failed.

    An observer is a hook whose class says ``observer = True``: a tracker, a progress bar. What it
    does changes no number of the run.

    Args:
        culprit: Finds the hook that an exception came out of: an observer may call others.
        raising: Ids of observers that shall stop the run all the same.
    """

    def __init__(
        self,
        culprit: Callable[[BaseException], Culprit | None],
        raising: Collection[str] = (),
    ) -> None:
        self._culprit = culprit
        self._raising = frozenset(raising)
        #: Ids of observers that failed.
        self.off: set[str] = set()

    def surround(self, place: Place, function: Function) -> Function | None:
        """Guard an implementation of an observer."""
        if not self.may_be_switched_off(place.id, place.instance):
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
                if self._who(error, place) != place.id:
                    raise
                self.switch_off(place.id, place.instance, place.implementation.hook, error)
                return None

        return guarded

    def may_be_switched_off(self, id_: str, hook: object) -> bool:
        """Say whether a hook's failure is its own affair."""
        return is_observer(hook) and id_ not in self._raising

    def switch_off(self, id_: str, hook: object, method: str, error: Exception) -> None:
        """Stop calling a hook that failed, and say so."""
        self.off.add(id_)
        _report(id_, hook, method, error)

    def _who(self, error: Exception, place: Place) -> str:
        """Return the id of the hook that failed: this one, or another that it called."""
        if isinstance(error, HookFaultError):
            return error.hook_id
        culprit = self._culprit(error)
        return place.id if culprit is None else culprit.id


def _report(id_: str, hook: object, method: str, error: Exception) -> None:
    log.warning(
        "hook %r (%s) failed in %s and is switched off; the run goes on without it: %s "
        "(on_error=raise would have stopped the run)",
        id_,
        origin_of(hook),
        method,
        f"{type(error).__name__}: {error}" if str(error) else repr(error),
    )
    # For the log file; a terminal shows the line above.
    log.debug("hook %r failed", id_, exc_info=error)
