"""What a check looks at: an installed distribution, a project folder, or a built distribution."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from reid_core.errors import UsageError, did_you_mean
from reid_core.inspection.archive import SUFFIXES, Archive, read_archive
from reid_core.inspection.declared_checks import declared_findings
from reid_core.inspection.finding import Finding
from reid_core.inspection.installed_dist import Environment, InstalledDist
from reid_core.inspection.source_checks import (
    copy_findings,
    editable_findings,
    leftover_findings,
    stale_findings,
)
from reid_core.plugins.aliases import components_of
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.declaration import Declaration
from reid_core.plugins.editable import install_again
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.metadata import API_GROUP, CORE, Entry
from reid_core.plugins.project import read_project


@dataclass(frozen=True)
class Subject:
    """One distribution to be checked.

    Args:
        name: Its normalised name.
        version: Its version; empty where it has none.
        source: Where it was read.
        refs: Its components.
        findings: What its metadata tells.
        is_editable: Whether it is installed in editable mode.
        is_installed: Whether its components can be imported.
        archive: What it holds, where it is a file.
    """

    name: str
    version: str
    source: str
    refs: tuple[ComponentRef, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_editable: bool = False
    is_installed: bool = False
    archive: Archive | None = None


@dataclass(frozen=True)
class Installation:
    """What is installed, as files and as components.

    Args:
        environment: The metadata.
        index: The components.
    """

    environment: Environment
    index: PluginIndex

    @property
    def core_version(self) -> str | None:
        """Version of the installed core; None where it is only on the path."""
        core = self.environment.dists.get(CORE)
        return core.declared.version if core else None

    def plugin_names(self) -> tuple[str, ...]:
        """Return the distributions that provide something, or once did, sorted."""
        broken = {Path(one.place) for one in self.index.broken}
        left = {
            name
            for name, places in self.environment.leftovers.items()
            if name.startswith("reid-") or not broken.isdisjoint(places)
        }
        return tuple(sorted({*self.index.dists(), *left}))


def find_subject(text: str, installation: Installation) -> Subject:
    """Find what a person means by a distribution's name or a path.

    Args:
        text: As it was typed.
        installation: What is installed.

    Raises:
        UsageError: There is nothing of that name.
    """
    path, name = Path(text).expanduser(), str(canonicalize_name(text))
    is_path = os.sep in text or "/" in text or text in (".", "..") or text.endswith(SUFFIXES)
    known = {*installation.environment.dists, *installation.environment.leftovers}
    if not is_path and name in known:
        return installed_subject(name, installation)
    if path.is_dir():
        return _project_subject(path.resolve(), installation)
    if path.is_file() and text.endswith(SUFFIXES):
        return _archive_subject(path, installation)
    if path.is_file():
        raise UsageError(
            f"{text} is neither a wheel (.whl) nor an sdist (.tar.gz), nor the folder of a project"
        )
    if is_path:
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UsageError(f"there is no {text}{did_you_mean(path.name, siblings)}")
    plugins = installation.plugin_names()
    folders = [p.parent.name for p in Path().glob("*/pyproject.toml")]
    raise UsageError(
        f"no distribution {text} is installed, and there is no such folder or file"
        f"{did_you_mean(name, [*folders, *plugins])} (those that provide something: "
        f"{', '.join(plugins)})"
    )


def installed_subject(name: str, installation: Installation) -> Subject:
    """Read an installed distribution, or what is left of one."""
    leftovers = leftover_findings(installation.environment.leftovers.get(name, ()))
    dist = installation.environment.dists.get(name)
    if dist is None:
        places = installation.environment.leftovers[name]
        return Subject(name, "", str(places[0].parent), findings=leftovers)
    refs = tuple(r for r in installation.index.refs if r.dist == name and r.status != "shadowed")
    return Subject(
        name=name,
        version=dist.declared.version,
        source=str(dist.source or dist.place.parent),
        refs=refs,
        findings=(
            *declared_findings(dist.declared, installation.core_version),
            *editable_findings(dist),
            *copy_findings(dist),
            *leftovers,
        ),
        is_editable=dist.source is not None,
        is_installed=True,
    )


def _project_subject(folder: Path, installation: Installation) -> Subject:
    project = read_project(folder)
    dist = installation.environment.dists.get(project.declared.dist)
    if dist is None:
        missing = Finding("fault", "not-installed", f"it is not installed; {install_again(folder)}")
        found = (
            declared_findings(project.declared, installation.core_version)
            if project.has_entries
            else ()
        )
        return Subject(
            name=project.declared.dist,
            version=project.declared.version,
            source=str(folder),
            refs=_refs_of(project.declared),
            findings=(missing, *found),
        )
    subject = installed_subject(project.declared.dist, installation)
    if _is_same(dist, folder):
        return subject
    elsewhere = Finding(
        "warning",
        "not-installed",
        f"what is installed is another copy, in {subject.source}, and that one is checked; "
        f"{install_again(folder)}",
    )
    stale = stale_findings(dist.declared, project, folder)
    return Subject(
        **{**vars(subject), "findings": (elsewhere, *stale, *subject.findings)},
    )


def _is_same(dist: InstalledDist, folder: Path) -> bool:
    return dist.source is not None and dist.source.resolve() == folder


def _archive_subject(path: Path, installation: Installation) -> Subject:
    archive = read_archive(path)
    declared = archive.declared
    return Subject(
        name=declared.dist,
        version=declared.version,
        source=str(path),
        refs=_refs_of(declared),
        findings=declared_findings(declared, installation.core_version),
        archive=archive,
    )


def _refs_of(declared: Declaration) -> tuple[ComponentRef, ...]:
    """Make the records that the index would have if the distribution were installed."""
    own = declared.own_entries
    api = tuple(dict.fromkeys(entry.name for entry in own if entry.group == API_GROUP))
    entries = [
        Entry(
            group=entry.group,
            name=entry.name,
            value=entry.value,
            dist=declared.dist,
            version=declared.version,
            editable=False,
            shadowed=False,
            api=api,
        )
        for entry in own
    ]
    return components_of(entries)
