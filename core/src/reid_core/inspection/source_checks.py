"""What can be wrong between an installed distribution and the disk: stale or left over."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from reid_core.errors import UsageError
from reid_core.inspection.finding import Finding
from reid_core.inspection.installed_dist import InstalledDist
from reid_core.plugins.component_ref import singular
from reid_core.plugins.declaration import Declaration
from reid_core.plugins.editable import install_again
from reid_core.plugins.metadata import GROUP_PREFIX
from reid_core.plugins.project import Project, read_project


def editable_findings(dist: InstalledDist) -> tuple[Finding, ...]:
    """Compare an editable installation with the project it was made from; none for others."""
    source = dist.source
    if source is None:
        return ()
    if not source.is_dir():
        return (
            Finding(
                "fault",
                "stale-metadata",
                f"it is installed in editable mode from {source}, which is not there any more; "
                f"{install_again(source)}, or pip uninstall {dist.declared.dist}",
            ),
        )
    try:
        project = read_project(source)
    except UsageError as error:
        return (Finding("fault", "stale-metadata", str(error)),)
    return (*stale_findings(dist.declared, project, source), *_egg_info(source, project))


def stale_findings(installed: Declaration, project: Project, folder: Path) -> tuple[Finding, ...]:
    """Compare what is installed with what a pyproject.toml says now.

    Args:
        installed: From the installed metadata.
        project: From the sources.
        folder: The project folder.
    """
    differences = []
    if project.declared.version and installed.version != project.declared.version:
        differences.append(f"version {installed.version} is {project.declared.version} now")
    if project.has_entries:
        differences += _entry_differences(installed, project.declared)
    if not differences:
        return ()
    return (
        Finding(
            "fault",
            "stale-metadata",
            f"the installed metadata is not that of {folder / 'pyproject.toml'} any more: "
            f"{'; '.join(differences)}; {install_again(folder)}",
        ),
    )


def _entry_differences(installed: Declaration, written: Declaration) -> Iterator[str]:
    old = {(entry.group, entry.name): entry.value for entry in installed.own_entries}
    new = {(entry.group, entry.name): entry.value for entry in written.own_entries}
    for key in sorted({*old, *new}):
        group, name = key
        what = f"{singular(group.removeprefix(GROUP_PREFIX))} {name}"
        if key not in old:
            yield f"{what} is new"
        elif key not in new:
            yield f"{what} is gone"
        elif "".join(old[key].split()) != "".join(new[key].split()):
            yield f"{what} is {new[key]} now, not {old[key]}"


def _egg_info(source: Path, project: Project) -> Iterator[Finding]:
    # With setuptools the folder is how an editable installation works, and comes back.
    if project.backend.startswith("setuptools"):
        return
    for folder in sorted({*source.glob("*.egg-info"), *source.glob("src/*.egg-info")}):
        yield Finding(
            "warning",
            "leftover",
            f"{folder} is left from an older build, and may be read in place of the installed "
            f"metadata; rm -r {shlex.quote(str(folder))}",
        )


def leftover_findings(folders: Iterable[Path]) -> tuple[Finding, ...]:
    """Report metadata folders that hold no metadata."""
    return tuple(
        Finding(
            "warning",
            "leftover",
            f"{folder} holds no metadata that can be read, as an interrupted installation leaves "
            f"it; rm -r {shlex.quote(str(folder))}",
        )
        for folder in folders
    )


def copy_findings(dist: InstalledDist) -> tuple[Finding, ...]:
    """Report further copies of a distribution; Python imports the first one on its path."""
    name = dist.declared.dist
    return tuple(
        Finding(
            "warning",
            "second-copy",
            f"it is installed twice: {dist.place} is used and {copy} is not; keep one: "
            f"pip uninstall {name} as often as it finds one, then install it",
        )
        for copy in dist.copies
    )
