"""What a recipe says about itself."""

import re
from pathlib import Path

import pytest

import reid_plugin_baselines

FOLDER = Path(reid_plugin_baselines.__file__).parent / "recipes"
RECIPES = sorted(FOLDER.rglob("*.yaml"))
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_header_tells_source_published_result_and_differences(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    header = "\n".join(line for line in lines if line.startswith("#"))
    assert "# Source" in header
    assert re.search(r"# Published: .*\d\d\.\d", header)
    assert "# Differences: " in header or "differences: see" in header


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_readme_names_every_recipe(path):
    name = f"{path.parent.name}/{path.stem}"
    is_rung = path.parent.name == "ladder"
    assert (f"baselines/{name.split('/')[0]}/1_standard" if is_rung else f"`{name}`") in README
