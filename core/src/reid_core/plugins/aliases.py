"""Second names: entries that stand for another component of the same distribution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from reid_core.errors import did_you_mean
from reid_core.plugins.component_ref import KINDS, ComponentRef
from reid_core.plugins.metadata import API_GROUP, GROUP_PREFIX, Entry

#: Groups of second names; an entry is ``"<kind>.<alias>" = "<name>"``.
ALIASES = "reid_core.aliases"
#: The same for old names that will go.
DEPRECATED_ALIASES = "reid_core.deprecated_aliases"


def components_of(entries: Iterable[Entry]) -> tuple[ComponentRef, ...]:
    """Return a record for every entry, second names included, and each only once."""
    by_copy: dict[Entry, list[Entry]] = {}
    for entry in entries:
        by_copy.setdefault(replace(entry, group="", name="", value=""), []).append(entry)
    # A dictionary, so that exact duplicates collapse and the order stays.
    return tuple(
        dict.fromkeys(ref for copy in by_copy.values() for ref in _components_of_one(copy))
    )


def _components_of_one(entries: Iterable[Entry]) -> Iterator[ComponentRef]:
    """Yield the records of one distribution."""
    aliases: list[Entry] = []
    own: dict[tuple[str, str], ComponentRef] = {}
    for entry in entries:
        if entry.group in (ALIASES, DEPRECATED_ALIASES):
            aliases.append(entry)
        elif entry.group != API_GROUP:
            ref = ComponentRef.of_entry(entry)
            own[ref.kind, ref.name] = ref
            yield ref
    for entry in aliases:
        yield _alias(entry, own)


def _alias(entry: Entry, own: Mapping[tuple[str, str], ComponentRef]) -> ComponentRef:
    kind, _, name = entry.name.partition(".")
    is_deprecated = entry.group == DEPRECATED_ALIASES
    fault = _fault(entry, own)
    if not fault:
        target = own[kind, entry.value]
        return replace(target, name=name, alias_of=target.name, deprecated=is_deprecated)
    return ComponentRef(
        kind=kind if name else entry.group.removeprefix(GROUP_PREFIX),
        name=name or entry.name,
        value=entry.value,
        dist=entry.dist,
        version=entry.version,
        status="shadowed" if entry.shadowed else "bad-metadata",
        editable=entry.editable,
        detail=f"{entry.dist} {entry.used_copy} is used" if entry.shadowed else fault,
        alias_of=entry.value,
        deprecated=is_deprecated,
    )


def _fault(entry: Entry, own: Mapping[tuple[str, str], ComponentRef]) -> str:
    """Say what is wrong with an alias; empty when nothing is."""
    kind, _, name = entry.name.partition(".")
    if not name:
        return f"{entry.name!r} is no '<kind>.<alias>' such as 'losses.{entry.name}'"
    if kind not in KINDS:
        return f"there is no kind {kind!r}{did_you_mean(kind, KINDS)}"
    if (kind, name) in own:
        return f"{entry.dist} has a component of that name too"
    if (kind, entry.value) not in own:
        names = [other for own_kind, other in own if own_kind == kind]
        return (
            f"stands for {entry.value!r}, which {entry.dist} does not provide"
            f"{did_you_mean(entry.value, names)}"
        )
    return ""
