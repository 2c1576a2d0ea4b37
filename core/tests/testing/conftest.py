"""Components that are right, and the same with one fault, installed for a test."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from reid_core.testing import Conformance
from reid_core.testing.fake_dist import FakeSite
from reid_core.testing.fixtures import fake_dist, hook_recorder, no_network, plugin_index_blocked

__all__ = ["fake_dist", "hook_recorder", "no_network", "plugin_index_blocked"]

DIST = "reid-plugin-example"


class Installed(Protocol):
    def __call__(
        self,
        base: type[Conformance],
        source: str,
        old: str = "",
        new: str = "",
        **attributes: object,
    ) -> Conformance: ...


@pytest.fixture
def installed_component(fake_dist: FakeSite) -> Installed:
    """A function that installs ``Example`` of a module, and returns the kit's class for it.

    With ``old`` and ``new`` one place of the source is replaced: that is the fault.
    """

    def install(
        base: type[Conformance], source: str, old: str = "", new: str = "", **attributes: object
    ) -> Conformance:
        assert source.count(old) == 1 or not old
        text = source.replace(old, new) if old else source
        fake_dist(
            DIST,
            {base.kind: {"example": "reid_plugin_example:Example"}},
            modules={"reid_plugin_example.py": text},
        )
        return type("TestExample", (base,), {"name": "example", "dist": DIST, **attributes})()

    return install


Run = Callable[[Conformance, str], None]


@pytest.fixture
def run_check(tmp_path: Path) -> Run:
    """A function that calls one check, as pytest would."""

    def run(component: Conformance, check: str) -> None:
        method = getattr(component, check)
        folder = tmp_path / check
        folder.mkdir()
        wanted = inspect.signature(method).parameters
        method(**({"tmp_path": folder} if "tmp_path" in wanted else {}))

    return run


@pytest.fixture
def run_all_checks(run_check: Run) -> Callable[[Conformance], int]:
    """A function that calls every check but those of the import; returns how many there were."""

    def run(component: Conformance) -> int:
        checks = [n for n in dir(component) if n.startswith("test_") and "_import_" not in n]
        for check in checks:
            run_check(component, check)
        return len(checks)

    return run


@pytest.fixture
def pytester_run(tmp_path: Path) -> Callable[..., str]:
    """A function that runs pytest on files, as the author of a plugin does; returns its output."""

    def run(*options: str, **files: str) -> str:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-rA",
            *options,
            ".",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return run


@pytest.fixture
def own_checks() -> Callable[..., set[str]]:
    """A function that names the checks which classes of the kit define themselves."""
    return lambda *classes: {n for one in classes for n in vars(one) if n.startswith("test_")}
