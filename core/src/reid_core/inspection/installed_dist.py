"""What is installed, with what an interrupted or repeated installation leaves behind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import canonicalize_name

from reid_core.plugins.declaration import Declaration, read_declaration
from reid_core.plugins.editable import source_of
from reid_core.plugins.metadata import MetadataFiles, installed_files

# ``name-1.0.dist-info`` and ``name.egg-info``; pip renames what it is about to delete to ``~ame…``.
_FOLDER = re.compile(r"(?P<name>.+?)(?:-[^-]+)?(?:-py[\d.]+)?\.(?:dist|egg)-info\Z")


@dataclass(frozen=True)
class InstalledDist:
    """The copy of a distribution that Python uses.

    Args:
        declared: What its metadata says.
        place: The folder, or file, of its metadata.
        source: Its project folder when it is installed in editable mode.
        copies: Metadata of further copies, which are not used.
    """

    declared: Declaration
    place: Path
    source: Path | None = None
    copies: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Environment:
    """Everything installed.

    Args:
        dists: The distributions by normalised name.
        leftovers: Metadata without content, by the normalised name its folder tells.
    """

    dists: Mapping[str, InstalledDist]
    leftovers: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)


def read_environment(files: Iterable[MetadataFiles] | None = None) -> Environment:
    """Read the metadata of everything installed; imports nothing of it.

    Args:
        files: The metadata files, in the order of ``sys.path``; those installed by default.
    """
    dists: dict[str, InstalledDist] = {}
    leftovers: dict[str, tuple[Path, ...]] = {}
    seen: set[str] = set()
    for one in installed_files() if files is None else files:
        place = Path(one.place)
        if os.path.realpath(place) in seen:
            continue  # a folder that is twice on the path
        seen.add(os.path.realpath(place))
        try:
            declared = read_declaration(one.core_metadata, one.entry_points)
        except ValueError:
            name = _name_of(place)
            leftovers[name] = (*leftovers.get(name, ()), place)
            continue
        first = dists.get(declared.dist)
        if first is None:
            dists[declared.dist] = InstalledDist(declared, place, source_of(one.direct_url))
        else:
            dists[declared.dist] = InstalledDist(
                first.declared, first.place, first.source, (*first.copies, place)
            )
    return Environment(dists, leftovers)


def _name_of(place: Path) -> str:
    match = _FOLDER.match(place.name)
    return str(canonicalize_name(match["name"] if match else place.name))
