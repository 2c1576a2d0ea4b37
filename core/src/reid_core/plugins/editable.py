"""Distributions in editable mode: where their projects lie, and how to install them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from reid_core.errors import UsageError
from reid_core.plugins.aliases import ALIASES, DEPRECATED_ALIASES
from reid_core.plugins.declaration import Declaration, read_declaration
from reid_core.plugins.metadata import GROUP_PREFIX, installed_files
from reid_core.plugins.project import Project, read_project


@dataclass(frozen=True)
class EditableDist:
    """A distribution that is installed in editable mode.

    Args:
        declared: What its installed metadata says.
        source: Its project folder, which may be gone.
    """

    declared: Declaration
    source: Path


def editable_dists() -> Iterator[EditableDist]:
    """Yield what is installed in editable mode; of several copies the one that Python imports.

    It reads the metadata of everything installed, so it is for messages only.
    """
    seen: set[str] = set()
    for files in installed_files():
        with suppress(ValueError):  # left over from an interrupted installation
            declared = read_declaration(files.core_metadata, files.entry_points)
            source = source_of(files.direct_url)
            if source is not None and declared.dist not in seen:
                yield EditableDist(declared, source)
            seen.add(declared.dist)


def source_of(direct_url: str) -> Path | None:
    """Return the folder that an editable installation points at; None for any other.

    Args:
        direct_url: Text of its ``direct_url.json``; empty where there is none.

    Source: PEP 610
    """
    try:
        info = json.loads(direct_url)
        url, directory = info["url"], info["dir_info"]
        is_editable = directory.get("editable") is True
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if not is_editable or not str(url).startswith("file:"):
        return None
    # Imported here: it brings the clients of several protocols along, and every start would wait.
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(str(url)).path))


def source_folder(dist: str) -> Path | None:
    """Return the project folder of a distribution in editable mode, there or not.

    Args:
        dist: Its normalised name.
    """
    return next((one.source for one in editable_dists() if one.declared.dist == dist), None)


def install_again(folder: Path | None) -> str:
    """Return the command that installs a project in editable mode.

    Args:
        folder: Its folder; None, or one that is not there, where it has to be filled in.
    """
    if folder is None or not folder.is_dir():
        return "pip install -e <where the project is now>"
    return f"pip install -e {shlex.quote(str(folder))}"


def forgotten_install(kind: str, name: str) -> str:
    """Say that a project declares a component which its installed metadata does not have yet.

    Args:
        kind: Component kind.
        name: As a configuration has it, plain or as ``distribution/name``.

    Returns:
        What to type; empty where no project declares it, or where it is installed.
    """
    dist, _, plain = name.rpartition("/")
    for one in editable_dists():
        written = _project_of(one.source)
        if written is None or (dist and canonicalize_name(dist) != written.declared.dist):
            continue
        if _declares(written.declared, kind, plain) and not _declares(one.declared, kind, plain):
            return (
                f"{written.declared.dist} declares it in {one.source / 'pyproject.toml'}, which "
                f"has changed since it was installed: {install_again(one.source)}"
            )
    return ""


def _project_of(folder: Path) -> Project | None:
    with suppress(UsageError, OSError, ValueError):  # gone, or in the middle of a change
        return read_project(folder)
    return None


def _declares(declared: Declaration, kind: str, name: str) -> bool:
    wanted = {
        (f"{GROUP_PREFIX}{kind}", name),
        (ALIASES, f"{kind}.{name}"),
        (DEPRECATED_ALIASES, f"{kind}.{name}"),
    }
    return not wanted.isdisjoint((entry.group, entry.name) for entry in declared.entries)
