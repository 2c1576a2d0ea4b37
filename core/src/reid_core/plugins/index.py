"""The index: which component names exist and which distribution provides each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from packaging.utils import canonicalize_name

from reid_core.errors import PluginError, did_you_mean
from reid_core.plugins.component_ref import KINDS, ComponentRef, singular
from reid_core.plugins.metadata import CORE, iter_entries

__all__ = ["KINDS", "ComponentRef", "PluginIndex", "installed", "singular"]


@dataclass(frozen=True)
class PluginIndex:
    """All components that installed distributions declare.

    Args:
        refs: Every component, sorted by kind, name and distribution.
    """

    refs: tuple[ComponentRef, ...]

    @classmethod
    def scan(cls) -> PluginIndex:
        """Read the metadata of everything installed; imports no plugin."""
        # A dictionary, so that exact duplicates collapse and the order stays.
        refs = {ComponentRef.of_entry(entry): None for entry in iter_entries()}
        claims = Counter((ref.kind, ref.name) for ref in refs if ref.claims_name)
        marked = [
            replace(ref, status="conflict")
            if ref.claims_name and claims[ref.kind, ref.name] > 1
            else ref
            for ref in refs
        ]
        return cls(tuple(sorted(marked, key=lambda ref: (ref.kind, ref.name, ref.dist))))

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
            PluginError: Nothing or more than one thing has that name, its metadata is broken, or
                its distribution needs another version of the core.
        """
        wanted = _normalised(name)
        matches = [r for r in self.by_kind(kind) if wanted in (r.name, r.qualified)]
        found = [r for r in matches if r.claims_name]
        if len(found) > 1:
            raise PluginError(_ambiguous(name, found))
        if not found:
            raise PluginError(_unusable(matches[0]) if matches else self._unknown(kind, name, also))
        if found[0].needs:
            raise PluginError(_incompatible(found[0]))
        return found[0]

    def _unknown(self, kind: str, name: str, also: Iterable[str]) -> str:
        refs = [ref for ref in self.by_kind(kind) if ref.claims_name]
        names = sorted({*also, *(ref.name for ref in refs)})
        spellings = [*names, *(ref.qualified for ref in refs)] if "/" in name else names
        known = f"installed are {', '.join(names)}" if names else "none is installed"
        others = {f"{ref.kind} of {ref.dist}" for ref in self.refs if ref.name == name}
        elsewhere = f"; among the {' and the '.join(sorted(others))} there is one" if others else ""
        return (
            f"unknown {singular(kind)} {name!r}{did_you_mean(name, spellings)} ({known})"
            f"{elsewhere}; 'reid-plugins list' shows what each distribution provides"
        )


@cache
def installed() -> PluginIndex:
    """Return the index of this process; the scan happens once."""
    return PluginIndex.scan()


def _normalised(name: str) -> str:
    dist, separator, plain = name.rpartition("/")
    return f"{canonicalize_name(dist)}/{plain}" if separator else name


def _ambiguous(name: str, found: list[ComponentRef]) -> str:
    what = f"{singular(found[0].kind)} {name!r}"
    providers = ", ".join(ref.origin() for ref in found)
    dists = {ref.dist for ref in found}
    if len(dists) == 1:
        return (
            f"{what} is declared {len(found)} times by one distribution: {providers}; report it "
            f"to its author, or uninstall it: pip uninstall {found[0].dist}"
        )
    spellings = " or ".join(dict.fromkeys(ref.qualified for ref in found))
    return (
        f"{what} is provided by {len(dists)} distributions: {providers}; "
        f"say which one: {spellings}, or uninstall the other"
    )


def _unusable(ref: ComponentRef) -> str:
    what = f"{singular(ref.kind)} {ref.name!r} of {ref.dist} {ref.version}"
    if ref.status == "shadowed":
        return (
            f"{what} belongs to a second installed copy of {ref.dist}, which Python does not "
            f"import; keep one: pip uninstall {ref.dist} as often as it finds one, then install it"
        )
    return (
        f"{what} has the entry point {ref.value!r}, which is no 'module:attribute'; report it to "
        f"its author, or uninstall it: pip uninstall {ref.dist}"
    )


def _incompatible(ref: ComponentRef) -> str:
    return (
        f"{singular(ref.kind)} {ref.name!r} of {ref.origin()} needs {ref.needs}, and another "
        f"version of {CORE} is installed; pip install '{ref.needs}', or a release of {ref.dist} "
        f"for this core: pip install --upgrade {ref.dist}"
    )
