"""A plugin's source folder, read from its pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reid_core.errors import UsageError
from reid_core.plugins.declaration import Declaration, DeclaredEntry


@dataclass(frozen=True)
class Project:
    """What the sources of a distribution declare.

    Args:
        declared: Name, version, requirements and entry points.
        has_entries: Whether the entry points are written there, and not made up by the build.
        backend: The build backend; empty when none is named.
    """

    declared: Declaration
    has_entries: bool
    backend: str


def read_project(folder: Path) -> Project:
    """Read a project folder.

    Raises:
        UsageError: There is no pyproject.toml in it, or none that names a project.
    """
    path = folder / "pyproject.toml"
    if not path.is_file():
        raise UsageError(
            f"{folder} holds no pyproject.toml; expected the folder of a plugin's project"
        )
    return parse_project(path.read_text(encoding="utf-8"), str(path))


def parse_project(text: str, source: str) -> Project:
    """Read the text of a pyproject.toml.

    Args:
        text: The text.
        source: Where it was found, for messages.

    Raises:
        UsageError: It is no TOML, or names no project.
    """
    # Imported here: every start imports this module, and few read a project.
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} cannot be read: {error}") from error
    project = _table(tables, "project")
    if not isinstance(project.get("name"), str):
        raise UsageError(f"{source} has no name in [project]; expected the file of a plugin")
    dynamic = project.get("dynamic")
    is_dynamic = isinstance(dynamic, list) and "entry-points" in dynamic
    requires = project.get("dependencies")
    return Project(
        declared=Declaration(
            name=str(project["name"]),
            version=str(project.get("version", "")),
            requires=tuple(map(str, requires)) if isinstance(requires, list) else (),
            entries=tuple(_entries(project)),
        ),
        has_entries=not is_dynamic,
        backend=str(_table(tables, "build-system").get("build-backend", "")),
    )


def _entries(project: Mapping[str, object]) -> Iterator[DeclaredEntry]:
    for group in _table(project, "entry-points"):
        for name, value in _table(_table(project, "entry-points"), group).items():
            yield DeclaredEntry(group, name, str(value))


def _table(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    child = parent.get(key)
    return child if isinstance(child, dict) else {}
