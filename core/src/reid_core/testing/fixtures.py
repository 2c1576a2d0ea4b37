"""Fixtures for the tests of plugin authors.

A ``conftest.py`` asks for them::

pytest_plugins = ["reid_core.testing.fixtures"]
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from reid_core.contracts import Batch
from reid_core.plugins.index import disabled_plugins, installed
from reid_core.plugins.metadata import CORE
from reid_core.testing import batches, market, network
from reid_core.testing.fake_dist import FakeSite
from reid_core.testing.hook_recorder import HookRecorder


@pytest.fixture
def fake_dist(tmp_path: Path) -> Iterator[FakeSite]:
    """Install a made-up distribution, with real metadata, until the test ends.

    ``fake_dist("reid-plugin-x", {"losses": {"mine": "x:Mine"}}, modules={"x.py": source})``
    """
    site = FakeSite(tmp_path / "fake_site")
    yield site
    site.uninstall()


@pytest.fixture
def plugin_index_blocked() -> Iterator[None]:
    """Leave installed plugins out: only the core and what the test adds can be named.

    What is added by ``fake_dist`` afterwards, or registered by hand, is found.
    """
    others = [dist for dist in installed().dists() if dist != CORE]
    with disabled_plugins(others, source="the fixture plugin_index_blocked"):
        yield


@pytest.fixture
def hook_recorder() -> HookRecorder:
    """Return a hook that records every call; register it, run, and ask for ``popcall(name)``."""
    return HookRecorder()


@pytest.fixture
def tiny_reid_batch() -> Batch:
    """Return 4 identities with 4 images each, (16, 3, 64, 32) float32."""
    return batches.tiny_reid_batch()


@pytest.fixture(scope="session")
def tiny_market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in Market-1501's layout: 6 training and 4 test identities, 2 cameras."""
    return market.write_tiny_market(tmp_path_factory.mktemp("tiny_market"))


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine, with an error that says so."""
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)
        monkeypatch.setattr(socket.socket, name, network.guarded_connect(original))
    monkeypatch.setattr(socket, "getaddrinfo", network.guarded_lookup(socket.getaddrinfo))
