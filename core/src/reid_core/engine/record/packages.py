"""The distributions that are installed, as ``pip freeze`` lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from packaging.utils import canonicalize_name

from reid_core.plugins.editable import source_of
from reid_core.plugins.metadata import installed_files

_HEADER = re.compile(r"^(Name|Version):[ \t]*(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """An installed distribution.

    Args:
        dist: Its normalised name.
        version: Its version.
        source: Its project folder where it is in editable mode; empty otherwise.
    """

    dist: str
    version: str
    source: str = ""

    def __str__(self) -> str:
        pinned = f"{self.dist}=={self.version}"
        return f"{pinned}  # editable: {self.source}" if self.source else pinned


@cache
def installed_packages() -> tuple[Package, ...]:
    """Return what was installed when this process first asked, by name.

    Of two copies of one distribution it is the one that Python imports. One whose metadata cannot
    be read is left out.
    """
    found: dict[str, Package] = {}
    for files in installed_files():
        headers: dict[str, str] = {}
        # A description may hold such lines too; the headers come first.
        for match in _HEADER.finditer(files.core_metadata.partition("\n\n")[0]):
            headers.setdefault(match.group(1), match.group(2))
        if len(headers) == 2:
            name = str(canonicalize_name(headers["Name"]))
            source = source_of(files.direct_url)
            package = Package(name, headers["Version"], "" if source is None else str(source))
            found.setdefault(name, package)
    return tuple(found[name] for name in sorted(found))
