from __future__ import annotations

import subprocess
import sys

import pytest

from reid_core.plugins.metadata import installed_version

PROBE = """
import sys
{statement}
heavy = sorted({{"torch", "torchvision", "numpy", "timm", "rich"}} & set(sys.modules))
plugins = sorted(name for name in sys.modules if name.startswith("reid_plugin_"))
print(heavy, plugins)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "import reid_core",
        "import reid_core.plugins, reid_core.plugins.registries, reid_core.errors",
        "import reid_core.config.load; from reid_core.config import *",
        "from reid_core.plugins import PluginIndex; PluginIndex.scan().problems()",
        "from reid_core.plugins.registries import BACKBONES; BACKBONES.names()",
        "from reid_core.plugins.registries import LOSSES; LOSSES.resolve('triplet')",
        "from reid_core.config import *; list_recipes(); load_config('osnet/osnet_x0_25')",
    ],
)
def test_config_and_plugin_layer_import_neither_torch_nor_a_plugin(statement: str) -> None:
    needed = "reid-plugin-osnet"
    if ("osnet" in statement or "triplet" in statement) and not installed_version(needed):
        pytest.skip(f"{needed} is not installed")
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("[] []", "")
