"""Installed distributions and their entry points; the one module that reads metadata."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

import importlib_metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

#: Number of the contract between the core and plugins; a breaking change of it counts one up.
PLUGIN_API = 1

#: Every entry-point group of ours starts with this.
GROUP_PREFIX = "reid_core."
#: The group in which a distribution says for which :data:`PLUGIN_API` it was made.
API_GROUP = "reid_core.plugin_api"
#: The distribution that this package comes from.
CORE = "reid-core"
#: What the name of a plugin's distribution starts with by convention.
PLUGIN_PREFIX = "reid-plugin-"

# Of a wheel, of an egg-info folder, and of an egg-info that is a file itself.
_METADATA_FILES = ("METADATA", "PKG-INFO", "")

# Parsing a requirement is slow, and this is the only one that matters here.
_ON_CORE = re.compile(r"\s*reid[-_.]+core\b", re.IGNORECASE)


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
        core: The version of the installed core; empty when it is only on the path.
        api: The plugin API numbers that the distribution says it was made for, as written.
        used_copy: For a shadowed one: version and folder of the copy that Python imports.
    """

    group: str
    name: str
    value: str
    dist: str
    version: str
    editable: bool
    shadowed: bool
    needs: str = ""
    core: str = ""
    api: tuple[str, ...] = ()
    used_copy: str = ""


@dataclass(frozen=True)
class BrokenDist:
    """Metadata of a distribution that cannot be read, and that nothing comes from therefore.

    Args:
        place: The folder it lies in.
        reason: What is wrong with it.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place} {self.reason}; delete that folder, or reinstall its distribution"


@dataclass(frozen=True)
class Metadata:
    """What one reading of all installed metadata found.

    Args:
        entries: Every entry point of ours, in the order of ``sys.path``.
        broken: What could not be read.
    """

    entries: tuple[Entry, ...]
    broken: tuple[BrokenDist, ...] = ()


class _EntryPoint(Protocol):
    group: str
    name: str
    value: str


class _Distribution(Protocol):
    # What is used of a distribution; the library's own name for it differs between its releases.
    @property
    def version(self) -> str: ...
    @property
    def requires(self) -> list[str] | None: ...
    @property
    def entry_points(self) -> Iterable[_EntryPoint]: ...
    def read_text(self, filename: str) -> str | None: ...
    def locate_file(self, path: str) -> object: ...


def read_metadata() -> Metadata:
    """Read the entry points of every installed distribution; imports no plugin.

    Of two copies of one distribution the first on ``sys.path`` is the one Python imports; the
    second is marked as shadowed. A folder that is reached twice counts once.
    """
    core = installed_version(CORE) or ""
    entries: list[Entry] = []
    broken: list[BrokenDist] = []
    places: set[object] = set()
    for dist in importlib_metadata.distributions():
        try:
            found = tuple(_entries_of(dist, core))
            leftover = not found and _is_leftover(dist)
        except Exception as error:  # a damaged file may raise anything
            broken.append(BrokenDist(_place(dist), f"cannot be read: {_reason(error)}"))
            continue
        if found or leftover:
            folder = _identity(_place(dist))
            if folder in places:
                continue
            places.add(folder)
        if leftover:
            broken.append(BrokenDist(_place(dist), "holds no METADATA"))
        entries += found
    return Metadata(tuple(entries), tuple(broken))


def _entries_of(dist: _Distribution, core: str) -> Iterator[Entry]:
    text = dist.read_text("entry_points.txt")
    # Parsing is the slow part of a scan: most distributions have no entry point of ours.
    if not text or GROUP_PREFIX not in text:
        return
    entries = [entry for entry in dist.entry_points if entry.group.startswith(GROUP_PREFIX)]
    if not entries:
        return
    headers = _headers(dist)
    name, version = canonicalize_name(headers["name"][0]), headers["version"][0]
    facts = Entry(
        group="",
        name="",
        value="",
        dist=name,
        version=version,
        editable=_is_editable(dist),
        shadowed=False,
        needs=_unmet_core_requirement(headers.get("requires-dist") or dist.requires or (), core),
        core=core,
        api=tuple(dict.fromkeys(e.name for e in entries if e.group == API_GROUP)),
    )
    used_copy = _other_copy(name, dist)
    for entry in entries:
        yield replace(
            facts,
            group=entry.group,
            name=entry.name,
            value=entry.value,
            shadowed=bool(used_copy),
            used_copy=used_copy,
        )


def _other_copy(name: str, dist: _Distribution) -> str:
    """Return version and folder of the copy that Python imports, if it is not this one."""
    try:
        # The first copy on the path may be one that has no entry point of ours any more.
        first: _Distribution = importlib_metadata.distribution(name)
    except importlib_metadata.PackageNotFoundError:
        return ""  # the folder is called otherwise than the distribution in it
    place = _place(first)
    if place == _place(dist):
        return ""
    return f"{first.version} in {Path(place).parent}"


def installed_version(dist: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib_metadata.version(dist)
    except (importlib_metadata.PackageNotFoundError, FileNotFoundError, KeyError):
        return None  # not there, or a folder left over without usable metadata


def requirements_of(dist: str) -> tuple[Requirement, ...]:
    """Return what an installed distribution requires, extras included; nothing if it is unknown."""
    try:
        texts = importlib_metadata.requires(dist) or []
    except (importlib_metadata.PackageNotFoundError, FileNotFoundError, KeyError):
        return ()
    return tuple(_parsed(texts))


def _parsed(texts: Iterable[str]) -> Iterator[Requirement]:
    for text in texts:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def _headers(dist: _Distribution) -> dict[str, list[str]]:
    """Return the headers by their name in lower case.

    The library parses the description too, which may be longer than everything else.
    """
    text = next(filter(None, map(dist.read_text, _METADATA_FILES)), None)
    if text is None:
        raise ValueError("there is no METADATA")
    headers: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not key[:1].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    return headers


def _place(dist: _Distribution) -> str:
    # The folder of the metadata has no public name; the folder that it lies in has one.
    return str(getattr(dist, "_path", None) or dist.locate_file(""))


def _identity(place: str) -> object:
    """Return what two spellings of one folder have in common."""
    try:
        status = os.stat(place)  # noqa: PTH116 — a Path takes ten times as long to make
    except OSError:
        return place  # inside an archive
    return status.st_dev, status.st_ino


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else repr(error)


def _has_metadata(dist: _Distribution) -> bool:
    return any(map(dist.read_text, _METADATA_FILES))


def _is_leftover(dist: _Distribution) -> bool:
    """Say whether this is what an interrupted uninstall of a plugin leaves behind."""
    name = canonicalize_name(Path(_place(dist)).name)
    return name.startswith((PLUGIN_PREFIX, f"{CORE}-")) and not _has_metadata(dist)


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


def _unmet_core_requirement(requires: Iterable[str], core: str) -> str:
    if not core:
        return ""  # the core itself is not installed, only on the path: nothing to compare with
    return next(filter(None, (_unmet(text, core) for text in requires if _ON_CORE.match(text))), "")


@cache
def _unmet(text: str, core: str) -> str:
    """Return one requirement as it is told when the core does not meet it."""
    for requirement in _parsed([text]):
        is_on_core = canonicalize_name(requirement.name) == CORE
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_on_core and applies and not requirement.specifier.contains(core, prereleases=True):
            return f"{CORE}{requirement.specifier}"
    return ""


@dataclass(frozen=True)
class MetadataFiles:
    """The metadata of one installed distribution as it is written, readable or not.

    Args:
        place: The folder, or file, that holds it.
        core_metadata: Name, version and requirements; empty where they cannot be read.
        entry_points: Its entry points; empty where there are none.
        direct_url: Where it was installed from, as JSON; empty for an index.
    """

    place: str
    core_metadata: str
    entry_points: str
    direct_url: str


def installed_files() -> Iterator[MetadataFiles]:
    """Yield the metadata of everything installed, in the order of ``sys.path``, leftovers too."""
    for dist in importlib_metadata.distributions():
        yield MetadataFiles(
            _place(dist),
            next(filter(None, (_text(dist, name) for name in _METADATA_FILES)), ""),
            _text(dist, "entry_points.txt"),
            _text(dist, "direct_url.json"),
        )


def _text(dist: _Distribution, name: str) -> str:
    try:
        return dist.read_text(name) or ""
    except (OSError, ValueError):
        return ""  # a damaged file is no file
