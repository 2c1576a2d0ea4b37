"""Switches that leave distributions out: a setting, an option, and two environment variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from reid_core.plugins.metadata import CORE

#: Stands for every distribution but the core's.
ALL = "*"
#: Leaves every distribution but the core's out, unless it is empty or a word for no.
NO_PLUGINS = "REID_NO_PLUGINS"
#: Names the distributions to leave out, with commas between them.
DISABLE_PLUGINS = "REID_DISABLE_PLUGINS"

_NO = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True)
class Switch:
    """One wish to leave distributions out.

    Args:
        dists: Their normalised names, or :data:`ALL`.
        source: Where it comes from, as a person finds it: ``plugins.disable``.
    """

    dists: tuple[str, ...]
    source: str

    @classmethod
    def of(cls, names: Iterable[str], source: str) -> Switch:
        """Make one of names as people write them."""
        return cls(tuple(n if n == ALL else canonicalize_name(n) for n in names), source)

    def covers(self, dist: str) -> bool:
        """Say whether it leaves a distribution out; none can leave out the core."""
        return dist != CORE and (dist in self.dists or ALL in self.dists)

    def undo(self, dist: str) -> str:
        """Say what to do to have a distribution back."""
        if self.source.startswith("--"):
            return f"leave {self.source} out to use it"
        if self.source == NO_PLUGINS:
            return f"unset {NO_PLUGINS} to use it"
        return f"take {dist if dist in self.dists else repr(ALL)} out of {self.source} to use it"


_in_this_context: ContextVar[tuple[Switch, ...]] = ContextVar("reid_core_switches", default=())


@contextmanager
def disabled_plugins(names: Iterable[str], *, source: str = "plugins.disable") -> Iterator[None]:
    """Leave distributions out of every look-up inside the ``with`` block.

    Args:
        names: Distributions, however they are spelled, or ``"*"`` for all but the core.
        source: What to call the switch in messages.
    """
    outer, switch = _in_this_context.get(), Switch.of(names, source)
    # A switch that is on already, as where a trainer checks its config again, counts once.
    is_new = switch.dists and switch not in outer
    token = _in_this_context.set((*outer, switch) if is_new else outer)
    try:
        yield
    finally:
        _in_this_context.reset(token)


def active_switches() -> tuple[Switch, ...]:
    """Return the switches that are on: those of the context, then those of the environment."""
    return (*_in_this_context.get(), *switches_of_environment())


def switches_of_environment() -> tuple[Switch, ...]:
    """Return the switches that environment variables turn on."""
    switches = []
    if os.environ.get(NO_PLUGINS, "").strip().lower() not in _NO:
        switches.append(Switch((ALL,), NO_PLUGINS))
    names = [name.strip() for name in os.environ.get(DISABLE_PLUGINS, "").split(",")]
    if any(names):
        switches.append(Switch.of(filter(None, names), DISABLE_PLUGINS))
    return tuple(switches)
