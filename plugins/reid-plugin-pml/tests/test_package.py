import importlib
import inspect
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from torch import nn

FOLDER = Path(__file__).parents[1]
README = (FOLDER / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS: dict[str, str] = PROJECT["entry-points"]["reid_core.losses"]
FROM_THE_FRAMEWORK = {"self", "feature_dim", "num_classes", "num_prefix_tokens"}


def load(value: str) -> type[nn.Module]:
    module, attribute = value.split(":")
    found = getattr(importlib.import_module(module), attribute)
    assert isinstance(found, type)
    assert issubclass(found, nn.Module)
    return found


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_the_readme_lists_every_component_with_its_parameters(name: str) -> None:
    component = load(ENTRY_POINTS[name])
    table = README.split("## Components")[1].split("\n\n")[1]
    rows = table[table.index(f"| `{name}` |") :].splitlines()
    mine = [rows[0], *itertools.takewhile(lambda row: row.startswith("| |"), rows[1:])]
    parameters = set(inspect.signature(component).parameters) - FROM_THE_FRAMEWORK
    listed = {match for row in mine for match in re.findall(r"^\|[^|]*\| `(\w+)`", row)}
    assert parameters <= listed


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example is not None
    exec(compile(example[1], "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, reid_plugin_pml; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
