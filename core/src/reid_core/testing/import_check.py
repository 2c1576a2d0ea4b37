"""What importing the modules of a distribution does to a process, found out in another one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from reid_core.plugins.index import ComponentRef, installed
from reid_core.plugins.metadata import CORE
from reid_core.testing.failure import ConformanceError
from reid_core.testing.subprocesses import child_environment

#: An import that takes longer than this is given up, in seconds.
TIMEOUT = 180.0
#: Every run has loaded these before it loads a component.
_PRELOADED = ("numpy", "torch", "torchvision.transforms.v2", "pydantic", "pluggy")


@dataclass(frozen=True)
class ImportReport:
    """What importing one module did.

    Args:
        error: What it raised; empty when it did not.
        output: What it printed, on either stream.
        seconds: Processor time it took.
        changes: Settings of the process that it changed, by name: value before and after.
    """

    error: str = ""
    output: str = ""
    seconds: float = 0.0
    changes: dict[str, list[str]] = field(default_factory=dict)


def module_of(component: ComponentRef) -> str:
    """Return the module that an entry point names."""
    return component.value.partition(":")[0]


def import_report(component: ComponentRef) -> ImportReport:
    """Import the module of a component in a process of its own.

    The other modules that the distribution's components name are imported there too, one after the
    other, each watched by itself; what was found is kept for the tests that come later.

    Args:
        component: An installed component.

    Raises:
        ConformanceError: The process crashed or did not end in time.
    """
    dist, module = component.dist, module_of(component)
    refs = [ref for ref in installed().refs if ref.dist == dist and ref.kind != "recipes"]
    modules = {module_of(ref) for ref in refs if ref.claims_name} | {module}
    return _import_in_child(dist, tuple(sorted(modules)), tuple(sys.path))[module]


@cache
def _import_in_child(
    dist: str, modules: tuple[str, ...], path: tuple[str, ...]
) -> dict[str, ImportReport]:
    preloaded = _PRELOADED if dist == CORE else (*_PRELOADED, "reid_core.engine")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-P", "-m", "reid_core.testing.import_probe", str(report)]
        try:
            done = subprocess.run(
                [*command, *preloaded, "--", *modules],
                env=child_environment(path),
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConformanceError(
                f"importing {', '.join(modules)} did not end within {TIMEOUT:.0f} s"
            ) from error
        if not report.is_file():
            raise ConformanceError(
                f"importing {', '.join(modules)} ended the process with exit code "
                f"{done.returncode}:\n{done.stderr[-2000:]}"
            )
        found = json.loads(report.read_text(encoding="utf-8"))
    return {module: ImportReport(**entry) for module, entry in found.items()}
