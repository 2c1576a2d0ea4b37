"""The page on the comparison names recipes that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_have_the_recipes_of_the_comparison():
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    recipes = {path.stem for path in (ROOT / "configs" / "comparison").glob("*.yaml")}
    listed = re.findall(r"^\| `(\w+)` \| \d+\.\d ± \d+\.\d \|", page, re.MULTILINE)
    assert set(listed) == recipes
    assert len(listed) >= 8 + 8
