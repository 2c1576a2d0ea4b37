"""A built distribution that is not installed: a wheel or an sdist."""

from __future__ import annotations

import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from reid_core.errors import UsageError
from reid_core.plugins.declaration import Declaration, parse_entry_points, read_declaration
from reid_core.plugins.project import parse_project

#: How the file names of built distributions end.
SUFFIXES = (".whl", ".tar.gz")


@dataclass(frozen=True)
class Archive:
    """What a built distribution declares, and what it holds.

    Args:
        declared: Name, version, requirements and entry points.
        files: The files that would be installed, as importable paths such as ``pkg/part.py``.
    """

    declared: Declaration
    files: frozenset[str]


def read_archive(path: Path) -> Archive:
    """Read a wheel or an sdist; nothing of it is run or unpacked.

    Raises:
        UsageError: It is neither, or damaged.
    """
    try:
        return _read_wheel(path) if path.suffix == ".whl" else _read_sdist(path)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise UsageError(f"{path} cannot be read as a wheel or an sdist: {error}") from error


def _read_wheel(path: Path) -> Archive:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        info = next((name for name in names if name.endswith(".dist-info/METADATA")), None)
        if info is None:
            raise ValueError("there is no METADATA in it")
        entry_points = info.replace("METADATA", "entry_points.txt")
        text = wheel.read(entry_points).decode() if entry_points in names else ""
        return Archive(read_declaration(wheel.read(info).decode(), text), frozenset(names))


def _read_sdist(path: Path) -> Archive:
    with tarfile.open(path) as sdist:
        files = {
            str(PurePosixPath(*PurePosixPath(member.name).parts[1:])): member
            for member in sdist.getmembers()
            if member.isfile()
        }

        def text_of(name: str) -> str:
            stream = sdist.extractfile(files[name]) if name in files else None
            return stream.read().decode() if stream else ""

        declared = read_declaration(text_of("PKG-INFO"), "")
        listed = next((n for n in files if n.endswith(".egg-info/entry_points.txt")), "")
        entries = tuple(parse_entry_points(text_of(listed)))
        if not listed and "pyproject.toml" in files:
            entries = parse_project(text_of("pyproject.toml"), str(path)).declared.entries
    # The src layout is the only one that moves files on their way into the environment.
    importable = frozenset(name.removeprefix("src/") for name in files)
    return Archive(
        Declaration(declared.name, declared.version, declared.requires, entries), importable
    )
