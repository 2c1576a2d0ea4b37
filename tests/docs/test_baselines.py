"""The page on baselines says what the recipes say."""

import re
import shlex
from pathlib import Path

import pytest

from reid_core.config import load_config
from reid_core.config.recipes import list_recipes

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
RECIPES = {n: p for n, p in list_recipes().items() if n.startswith("baselines/")}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_listed_with_its_published_result(name):
    header = RECIPES[name].read_text(encoding="utf-8")
    found = re.search(r"# Published: (.*?)(?=\n# [DS]|\n[^#])", header, re.DOTALL)
    published = re.sub(r"\n#\s*", " ", found[1]).strip().rstrip(".")
    assert f"| `{name.removeprefix('baselines/')}` | {published} |" in PAGE


def test_every_recipe_that_is_listed_exists():
    listed = re.findall(r"^\| `([a-z0-9_]+/[a-z0-9_]+)` \|", PAGE, re.MULTILINE)
    assert {f"baselines/{name}" for name in listed} == set(RECIPES)


SWITCHES = re.findall(r"^\| ([^|`]+) \| `(.*=.*)` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("trick", "setting"), SWITCHES)
def test_every_trick_is_a_switch(trick, setting):
    before = load_config("baselines/ladder/7_center").plain()
    after = load_config("baselines/ladder/7_center", shlex.split(setting)).plain()
    assert after != before, trick
    assert {key for key in after if after[key] != before[key]} <= {"model", "data", "train"}


def test_all_six_tricks_have_one():
    assert len(SWITCHES) == 6
