"""Distributions that look installed: real metadata and modules in folders on ``sys.path``."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from reid_core.plugins import registries
from reid_core.plugins.index import rescan
from reid_core.plugins.registry import Registry

#: Entry points by kind: name to ``module:attribute``.
Groups = Mapping[str, Mapping[str, str]]


class FakeSite:
    """A folder of distributions made up for a test; the real code reads them, no pip is needed.

    Called with a name and entry points, it installs a distribution behind those that it installed
    before, and before all real ones.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._roots: list[Path] = []
        self._dists: set[str] = set()
        self._modules_before = set(sys.modules)
        self._path_before = list(sys.path)

    def __call__(
        self,
        name: str,
        groups: Groups | str,
        *,
        version: str = "1.0",
        requires: Sequence[str] = (),
        modules: Mapping[str, str] | None = None,
        direct_url: object = None,
    ) -> Path:
        """Install a distribution.

        Args:
            name: Its name.
            groups: Its entry points by kind, such as ``{"losses": {"mine": "my_module:MyLoss"}}``;
                or the text of ``entry_points.txt``.
            version: Its version.
            requires: Its requirements, as ``Requires-Dist`` has them.
            modules: Source text by path, such as ``my_module.py``.
            direct_url: What pip notes of an editable install.

        Returns:
            The folder that was put on ``sys.path``.
        """
        root = self._folder / f"site{len(self._roots)}"
        info = root / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        head += [f"Requires-Dist: {text}" for text in requires]
        _write(info / "METADATA", "\n".join(head) + "\n")
        _write(
            info / "entry_points.txt", groups if isinstance(groups, str) else _entry_points(groups)
        )
        if direct_url is not None:
            _write(info / "direct_url.json", json.dumps(direct_url))
        for path, source in (modules or {}).items():
            _write(root / path, source)
        self._roots.append(root)
        self._dists.add(canonicalize_name(name))
        sys.path[:] = [*map(str, self._roots), *self._path_before]
        self._forget()
        return root

    def uninstall(self) -> None:
        """Take everything back: ``sys.path``, the modules that were imported, the index."""
        sys.path[:] = self._path_before
        for name in set(sys.modules) - self._modules_before:
            file = str(getattr(sys.modules[name], "__file__", None))
            if any(Path(file).is_relative_to(root) for root in self._roots):
                del sys.modules[name]
        self._forget()

    def _forget(self) -> None:
        importlib.invalidate_caches()
        rescan()
        for registry in vars(registries).values():
            if isinstance(registry, Registry):
                # A registry keeps what it loaded; the next test may use a name again.
                for kept in (registry._loaded, registry._failed):
                    for key in [key for key in kept if key.partition("/")[0] in self._dists]:
                        del kept[key]


def _entry_points(groups: Groups) -> str:
    lines = []
    for kind, entries in groups.items():
        lines.append(f"[reid_core.{kind}]")
        lines += [f"{name} = {value}" for name, value in entries.items()]
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
