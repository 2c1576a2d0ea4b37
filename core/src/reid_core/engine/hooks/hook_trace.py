"""Who was called when, and how long it took: ``reid-train --trace-hooks``."""

from __future__ import annotations

import functools
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import cast

from reid_core.engine.hooks.hook_layers import Function, Place

log = logging.getLogger("reid_core")


@dataclass
class _Total:
    calls: int = 0
    seconds: float = 0.0


@dataclass
class HookTrace:
    """Logs each call of an implementation with its step and time, and at the end the sums.

    The time of a wrapper holds what it surrounds, and so does that of a hook which fires others, as
    the evaluation does.

    Args:
        step: Says at which step the run is.
    """

    step: Callable[[], int]
    _totals: dict[tuple[str, str], _Total] = field(default_factory=lambda: defaultdict(_Total))
    _depth: int = 0

    def surround(self, place: Place, function: Function) -> Function:
        """Time an implementation."""
        if place.implementation.is_wrapper:
            return self._timed_wrapper(place, function)

        @functools.wraps(function)
        def timed(*arguments: object) -> object:
            started = self._enter()
            try:
                return function(*arguments)
            finally:
                self._leave(place, started)

        return timed

    def _timed_wrapper(self, place: Place, function: Function) -> Function:
        @functools.wraps(function)
        def timed(*arguments: object) -> Generator[None, object, object]:
            started = self._enter()
            try:
                return (yield from cast("Generator[None, object, object]", function(*arguments)))
            finally:
                self._leave(place, started)

        return timed

    def _enter(self) -> float:
        self._depth += 1
        return time.perf_counter()

    def _leave(self, place: Place, started: float) -> None:
        seconds = time.perf_counter() - started
        self._depth -= 1
        hook = place.implementation.hook
        total = self._totals[hook, place.id]
        total.calls += 1
        total.seconds += seconds
        around = " around" if place.implementation.is_wrapper else ""
        log.info(
            "step %d  %s%-16s %s%s  %.3f ms",
            self.step(),
            "  " * self._depth,
            hook,
            place.id,
            around,
            1e3 * seconds,
        )

    def summary(self) -> list[str]:
        """Return a table: hook, id, calls, milliseconds in all and a call; the slowest first."""
        lines = [f"{'hook':18}{'id':20}{'calls':>8}{'ms in all':>12}{'ms a call':>12}"]
        rows = sorted(self._totals.items(), key=lambda row: -row[1].seconds)
        for (hook, id_), total in rows:
            mean = total.seconds / total.calls
            lines.append(
                f"{hook:18}{id_:20}{total.calls:8}{1e3 * total.seconds:12.3f}{1e3 * mean:12.4f}"
            )
        return lines
