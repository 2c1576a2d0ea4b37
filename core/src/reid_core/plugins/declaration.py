"""What a distribution says of itself, wherever that is written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from reid_core.plugins.aliases import ALIASES, DEPRECATED_ALIASES
from reid_core.plugins.component_ref import KINDS
from reid_core.plugins.metadata import API_GROUP, GROUP_PREFIX

#: Groups of ours that hold no components.
OTHER_GROUPS = (API_GROUP, ALIASES, DEPRECATED_ALIASES)
#: Every entry-point group that means something here.
GROUPS = (*(f"{GROUP_PREFIX}{kind}" for kind in KINDS), *OTHER_GROUPS)


@dataclass(frozen=True)
class DeclaredEntry:
    """One entry point, as it is written.

    Args:
        group: Entry-point group.
        name: Its name.
        value: What it points at.
    """

    group: str
    name: str
    value: str


@dataclass(frozen=True)
class Declaration:
    """A distribution's own words.

    Args:
        name: Its name as written.
        version: Its version; empty where the build decides on it.
        requires: Its requirements as written.
        entries: Its entry points in every group, also those of others.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    entries: tuple[DeclaredEntry, ...]

    @property
    def dist(self) -> str:
        """The normalised name."""
        return str(canonicalize_name(self.name))

    @property
    def own_entries(self) -> tuple[DeclaredEntry, ...]:
        """The entry points whose group starts as ours do."""
        return tuple(entry for entry in self.entries if entry.group.startswith(GROUP_PREFIX))


def read_declaration(core_metadata: str, entry_points: str) -> Declaration:
    """Read the two files that an installed or built distribution carries.

    Args:
        core_metadata: Text of METADATA or PKG-INFO.
        entry_points: Text of entry_points.txt; empty where there is none.

    Raises:
        ValueError: There is no name.
    """
    # Imported here: every start imports this module, and few read metadata in full.
    from email.parser import HeaderParser

    headers = HeaderParser().parsestr(core_metadata)
    name = str(headers["Name"] or "").strip()
    if not name:
        raise ValueError("names no distribution")
    return Declaration(
        name=name,
        version=str(headers["Version"] or "").strip(),
        requires=tuple(str(text) for text in headers.get_all("Requires-Dist") or ()),
        entries=tuple(parse_entry_points(entry_points)),
    )


def parse_entry_points(text: str) -> Iterator[DeclaredEntry]:
    """Yield the entry points of an entry_points.txt, also those that are written twice."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield DeclaredEntry(group, name.strip(), value.strip())
