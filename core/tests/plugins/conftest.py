"""Distributions that look installed: real metadata and modules in folders on ``sys.path``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from reid_core.plugins.index import PluginIndex

Groups = Mapping[str, Mapping[str, str]]


class FakeDist(Protocol):
    def __call__(
        self,
        name: str,
        groups: Groups | str,
        *,
        version: str = "1.0",
        requires: Sequence[str] = (),
        modules: Mapping[str, str] | None = None,
        direct_url: object = None,
    ) -> Path: ...


def _entry_points(groups: Groups) -> str:
    lines = []
    for kind, entries in groups.items():
        lines.append(f"[reid_core.{kind}]")
        lines += [f"{name} = {value}" for name, value in entries.items()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def fake_dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDist]:
    """A function that installs a distribution behind those that it installed before."""
    roots: list[Path] = []

    def install(
        name: str,
        groups: Groups | str,
        *,
        version: str = "1.0",
        requires: Sequence[str] = (),
        modules: Mapping[str, str] | None = None,
        direct_url: object = None,
    ) -> Path:
        root = tmp_path / f"site{len(roots)}"
        info = root / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        head += [f"Requires-Dist: {text}" for text in requires]
        (info / "METADATA").write_text("\n".join(head) + "\n", encoding="utf-8")
        text = groups if isinstance(groups, str) else _entry_points(groups)
        (info / "entry_points.txt").write_text(text, encoding="utf-8")
        if direct_url is not None:
            (info / "direct_url.json").write_text(json.dumps(direct_url), encoding="utf-8")
        for path, source in (modules or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(source, encoding="utf-8")
        roots.append(root)
        monkeypatch.setattr(sys, "path", [*map(str, roots), *original])
        return root

    original = list(sys.path)
    before = set(sys.modules)
    yield install
    for name in set(sys.modules) - before:
        if any(str(root) in str(getattr(sys.modules[name], "__file__", "")) for root in roots):
            del sys.modules[name]


class Scan(Protocol):
    def __call__(self, *dist_prefixes: str) -> PluginIndex: ...


@pytest.fixture
def scan() -> Scan:
    """A function that reads the index of what is installed, without the distributions of ours."""

    def run(*dist_prefixes: str) -> PluginIndex:
        index = PluginIndex.scan()
        kept = [ref for ref in index.refs if ref.dist.startswith(dist_prefixes or "fake-")]
        return replace(index, refs=tuple(kept))

    return run
