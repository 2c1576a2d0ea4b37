"""Distributions that look installed, and the index of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from reid_core.plugins.index import PluginIndex
from reid_core.testing.fake_dist import FakeSite


@pytest.fixture
def fake_dist(tmp_path: Path) -> Iterator[FakeSite]:
    """A function that installs a distribution behind those that it installed before."""
    site = FakeSite(tmp_path)
    yield site
    site.uninstall()


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
