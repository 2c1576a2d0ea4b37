from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from reid_core import inspection

MODULES = [f"reid_core.inspection.{one.name}" for one in pkgutil.iter_modules(inspection.__path__)]


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith(".probe")])
def test_nothing_but_the_probe_needs_torch(module: str) -> None:
    program = f"import sys, {module}; print(sorted({{'torch', 'numpy'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
