"""Installed distributions and their entry points; the one module that reads metadata."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import importlib_metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

log = logging.getLogger("reid_core")

#: Every entry-point group of ours starts with this.
GROUP_PREFIX = "reid_core."
#: The distribution that this package comes from.
CORE = "reid-core"


@dataclass(frozen=True)
class Entry:
    """One entry point of ours, as its distribution's metadata has it.

    Args:
        group: Entry-point group, for example ``reid_core.backbones``.
        name: Component name.
        value: ``module:attribute``, not imported.
        dist: Normalised distribution name.
        version: Its version.
        editable: Whether it is installed in editable mode.
        shadowed: Whether another copy of the distribution comes first on ``sys.path``.
        needs: The distribution's requirement on this core if the installed core does not meet it;
            empty otherwise.
    """

    group: str
    name: str
    value: str
    dist: str
    version: str
    editable: bool
    shadowed: bool
    needs: str = ""


class _EntryPoint(Protocol):
    group: str
    name: str
    value: str


class _Distribution(Protocol):
    # What is used of a distribution; the library's own name for it differs between its releases.
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def requires(self) -> list[str] | None: ...
    @property
    def entry_points(self) -> Iterable[_EntryPoint]: ...
    def read_text(self, filename: str) -> str | None: ...
    def locate_file(self, path: str) -> object: ...


def iter_entries() -> Iterator[Entry]:
    """Yield every entry point whose group starts with :data:`GROUP_PREFIX`.

    Distributions come in the order of ``sys.path``; of two copies of one distribution the first is
    the one Python imports, the second is marked as shadowed. A distribution whose metadata cannot
    be read is left out with a warning.
    """
    core_version = installed_version(CORE)
    seen: set[str] = set()
    for dist in importlib_metadata.distributions():
        try:
            entries = list(_entries_of(dist, core_version))
        except Exception as error:  # a damaged file may raise anything
            log.warning("%s cannot be read and is left out: %s; reinstall it", _place(dist), error)
            continue
        for entry in entries:
            yield replace(entry, shadowed=entry.shadowed or entry.dist in seen)
        seen.update(entry.dist for entry in entries)


def _entries_of(dist: _Distribution, core_version: str | None) -> Iterator[Entry]:
    text = dist.read_text("entry_points.txt")
    # Parsing is the slow part of a scan: most distributions have no entry point of ours.
    if not text or GROUP_PREFIX not in text:
        return
    entries = [entry for entry in dist.entry_points if entry.group.startswith(GROUP_PREFIX)]
    if not entries:
        return
    name, version = canonicalize_name(dist.name), dist.version
    # The first copy on the path may be one that has no entry point of ours any more.
    first = importlib_metadata.distribution(name)
    shadowed = (first.version, first.read_text("entry_points.txt")) != (version, text)
    editable, needs = _is_editable(dist), _unmet_core_requirement(dist, core_version)
    for entry in entries:
        yield Entry(entry.group, entry.name, entry.value, name, version, editable, shadowed, needs)


def installed_version(dist: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib_metadata.version(dist)
    except (importlib_metadata.PackageNotFoundError, FileNotFoundError, KeyError):
        return None  # not there, or a folder left over without usable metadata


def _place(dist: _Distribution) -> str:
    # The folder of the metadata has no public name; the folder that it lies in has one.
    return str(getattr(dist, "_path", None) or dist.locate_file(""))


def _is_editable(dist: _Distribution) -> bool:
    text = dist.read_text("direct_url.json")
    if not text:
        return False
    try:
        info = json.loads(text)
    except ValueError:
        return False
    directory = info.get("dir_info") if isinstance(info, dict) else None
    return isinstance(directory, dict) and directory.get("editable") is True


def _unmet_core_requirement(dist: _Distribution, core_version: str | None) -> str:
    if core_version is None:
        return ""  # the core itself is not installed, only on the path: nothing to compare with
    for text in dist.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if canonicalize_name(requirement.name) != CORE:
            continue
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and not requirement.specifier.contains(core_version, prereleases=True):
            return f"{CORE}{requirement.specifier}"
    return ""
