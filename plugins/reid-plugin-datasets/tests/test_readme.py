"""The README lists every reader with its parameters and defaults."""

import inspect
import re
import tomllib
from pathlib import Path

from reid_core.plugins.registries import DATASETS

PROJECT = Path(__file__).resolve().parents[1]


def shown(default):
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, tuple):
        return ", ".join(default)
    if default is None or isinstance(default, bool):
        return "null" if default is None else str(default).lower()
    return str(default)


def test_the_table_is_that_of_the_readers():
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    listed = {
        cells[1].strip(" `"): dict(re.findall(r"`(\w+)`(?: \(([^)]*)\))?", cells[3]))
        for line in text.splitlines()
        if line.startswith("| `")
        for cells in [line.split("|")]
    }
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = project["entry-points"]["reid_core.datasets"]
    assert listed == {
        name: {
            parameter.name: shown(parameter.default)
            for parameter in inspect.signature(
                DATASETS.get(f"reid-plugin-datasets/{name}")
            ).parameters.values()
            if parameter.name != "root"
        }
        for name in names
    }
