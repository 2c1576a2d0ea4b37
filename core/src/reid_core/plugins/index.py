"""The index: which component names exist and which distribution provides each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from packaging.utils import canonicalize_name

from reid_core.errors import PluginError
from reid_core.plugins import refusals
from reid_core.plugins.aliases import components_of
from reid_core.plugins.claims import with_claims
from reid_core.plugins.component_ref import KINDS, ComponentRef, singular
from reid_core.plugins.metadata import CORE, BrokenDist, Metadata, read_metadata
from reid_core.plugins.switches import Switch, active_switches, disabled_plugins

__all__ = [
    "KINDS",
    "ComponentRef",
    "PluginIndex",
    "disabled_plugins",
    "installed",
    "rescan",
    "singular",
    "warn_if_deprecated",
]

log = logging.getLogger("reid_core")


@dataclass(frozen=True)
class PluginIndex:
    """All components that installed distributions declare.

    Args:
        refs: Every component, sorted by kind, name and distribution.
        broken: Metadata that could not be read.
        switches: The switches that were on; what they leave out has the status ``disabled``.
    """

    refs: tuple[ComponentRef, ...]
    broken: tuple[BrokenDist, ...] = ()
    switches: tuple[Switch, ...] = ()

    @classmethod
    def scan(cls, switches: Sequence[Switch] | None = None) -> PluginIndex:
        """Read the metadata of everything installed; imports no plugin.

        Args:
            switches: Those that leave distributions out; by default the ones that are on.
        """
        return cls.of(read_metadata(), active_switches() if switches is None else switches)

    @classmethod
    def of(cls, metadata: Metadata, switches: Sequence[Switch] = ()) -> PluginIndex:
        """Make the index of metadata that was read before."""
        refs = with_claims(components_of(metadata.entries), switches)
        ordered = sorted(refs, key=lambda ref: (ref.kind, ref.name, ref.dist))
        return cls(tuple(ordered), metadata.broken, tuple(switches))

    def by_kind(self, kind: str) -> tuple[ComponentRef, ...]:
        """Return the components of one kind, usable or not."""
        return tuple(ref for ref in self.refs if ref.kind == kind)

    def dists(self) -> tuple[str, ...]:
        """Return the distributions that provide something, sorted."""
        return tuple(sorted({ref.dist for ref in self.refs}))

    def problems(self) -> tuple[ComponentRef, ...]:
        """Return the components whose status is not ``ok``."""
        return tuple(ref for ref in self.refs if ref.status != "ok")

    def find(self, kind: str, name: str, *, also: Iterable[str] = ()) -> ComponentRef:
        """Return the component that ``name`` stands for.

        Args:
            kind: One of :data:`KINDS`.
            name: Plain, or qualified as ``distribution/name``.
            also: Further names that the caller knows, for the message.

        Raises:
            PluginError: Nothing or more than one thing has that name, its metadata is broken, its
                distribution needs another version of the core, or a switch leaves it out.
        """
        wanted = _normalised(name)
        matches = [r for r in self.by_kind(kind) if wanted in (r.name, r.qualified)]
        found = [r for r in matches if r.claims_name]
        # A name of the core is the core's; the others are reached by their qualified spelling.
        found = [r for r in found if r.dist == CORE] or found
        if len(found) > 1:
            raise PluginError(refusals.ambiguous(name, found))
        if not found and matches:
            raise PluginError(refusals.unusable(matches, self.switches))
        if not found:
            raise PluginError(refusals.unknown(kind, name, self.refs, self.broken, also))
        if found[0].needs:
            raise PluginError(refusals.incompatible(found[0]))
        return found[0]


def installed() -> PluginIndex:
    """Return the index of this process, without what the switches that are on leave out.

    Metadata is read once a process; see :func:`rescan`.
    """
    return _indexed(active_switches())


def rescan() -> None:
    """Forget what was read, so that what was installed meanwhile is found, and warned of anew."""
    warn_if_deprecated.cache_clear()
    _read.cache_clear()
    _indexed.cache_clear()


@cache
def warn_if_deprecated(ref: ComponentRef) -> None:
    """Say once a process that a name is an old one, where it is."""
    if ref.deprecated:
        log.warning(
            "%s %r of %s %s is deprecated; write %r",
            *(singular(ref.kind), ref.name, ref.dist, ref.version, ref.alias_of),
        )


@cache
def _read() -> Metadata:
    return read_metadata()


@cache
def _indexed(switches: tuple[Switch, ...]) -> PluginIndex:
    return PluginIndex.of(_read(), switches)


def _normalised(name: str) -> str:
    dist, separator, plain = name.rpartition("/")
    return f"{canonicalize_name(dist)}/{plain}" if separator else name
