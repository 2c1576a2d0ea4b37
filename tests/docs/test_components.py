"""Every component that a first-party package declares is listed with its parameters."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from reid_core.data.datasets.synthetic.settings import LIMITS
from reid_core.plugins import registries
from reid_core.plugins.context import CONTEXT
from reid_core.plugins.index import KINDS
from reid_plugin_heads.pooling.build import PoolingName

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = [ROOT / "core/pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]


def declared():
    """Return (kind, name, distribution) of every entry point of a first-party pyproject.toml."""
    found = []
    for path in PROJECTS:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        for group, entries in project.get("entry-points", {}).items():
            kind = group.removeprefix("reid_core.")
            if kind in KINDS:  # the others say something of the distribution as a whole
                found += [(kind, name, project["name"]) for name in entries]
    return found


COMPONENTS = declared()
WITH_PARAMETERS = [
    (kind, name) for kind, name, _ in COMPONENTS if kind not in ("recipes", "optimizers")
]


@pytest.fixture(scope="module")
def entries(page):
    """What the page says of each component, by (kind, name)."""
    found = {}
    text = page("docs/components.md")
    for kind in re.findall(r"^## (\w+)$", text.prose, re.M):
        section = text.section(kind)
        for heading in re.findall(r"^### (`.*`)$", section.prose, re.M):
            for name in re.findall(r"`(\w+)`", heading):
                found[kind, name] = section.section(heading)
    return found


def test_the_page_lists_what_is_declared_and_nothing_else(entries):
    assert set(entries) == {(kind, name) for kind, name, _ in COMPONENTS}


@pytest.mark.parametrize(("kind", "name", "dist"), COMPONENTS)
def test_the_page_says_which_package_a_component_comes_from(kind, name, dist, entries):
    assert f"From `{dist}`" in entries[kind, name].prose


@pytest.mark.parametrize(("kind", "name"), WITH_PARAMETERS)
def test_parameters_and_defaults_are_those_of_the_signature(kind, name, entries):
    registry = getattr(registries, kind.upper())
    offered = CONTEXT.get(kind, ())
    expected = {
        parameter.name: _default(parameter.default)
        for parameter in inspect.signature(registry.get(name)).parameters.values()
        if parameter.name not in offered
    }
    tables = entries[kind, name].tables()
    rows = tables[0][1] if tables else []
    documented = {cells[0].strip("`"): cells[2].strip("`") for cells in rows}
    assert documented == expected
    if not expected:
        assert "takes no parameters" in " ".join(entries[kind, name].prose.split())


def _default(value):
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(list(value)) if isinstance(value, tuple) else str(value)


def test_the_readme_names_every_component(page):
    text = page("README.md").section("Packages").prose
    rows = dict(
        re.search(r"\| `(reid-[\w-]+)` \| (.*) \|", line).groups()
        for line in text.splitlines()
        if line.startswith("| `")
    )
    assert set(rows) == {dist for _, _, dist in COMPONENTS}
    for kind, name, dist in COMPONENTS:
        if dist != "reid-core" and kind != "recipes":
            assert f"`{name}`" in rows[dist]


def test_the_pooling_table_has_every_pooling(page):
    ((_, rows),) = page("docs/components.md").section("Pooling").tables()
    assert tuple(cells[0].strip("`") for cells in rows) == get_args(PoolingName)


def test_context_is_what_the_trainer_offers(page):
    ((_, rows),) = page("docs/plugins.md").section("Context").tables()
    documented = {cells[0].strip("`"): tuple(re.findall(r"`(\w+)`", cells[1])) for cells in rows}
    assert documented == dict(CONTEXT)


def test_every_kind_is_in_the_overview(page):
    ((_, rows),) = page("docs/plugins.md").section("Kinds").tables()
    shown = [re.search(r"`(\w+)`", cells[0])[1] for cells in rows]
    assert set(shown) == set(KINDS)
    assert len(shown) == len(set(shown))


def test_the_page_of_a_kind_names_its_context_and_no_other(page):
    known = {name for names in CONTEXT.values() for name in names} - {"backbone", "head", "losses"}
    for kind in KINDS:
        text = page(f"docs/kinds/{kind}.md").section("Contract").prose
        (paragraph,) = re.findall(r"\[context\]\(.*?(?=\n\n[^-\n])", text, re.S) or [""]
        named = set(re.findall(r"`(\w+)", paragraph)) & known
        offered = set(CONTEXT.get(kind, ())) & known
        assert named == (offered if kind != "optimizers" else set()), kind


def test_the_synthetic_table_of_the_data_page_has_the_same_defaults(page, entries):
    ((_, rows),) = page("docs/data.md").section("Synthetic pedestrians").tables()
    ((_, listed),) = entries["datasets", "synthetic"].tables()
    assert {cells[0]: cells[1].strip("`") for cells in rows} == {
        cells[0]: cells[2].strip("`") for cells in listed
    }


def test_the_synthetic_table_has_the_limits_of_the_settings(page):
    ((_, rows),) = page("docs/data.md").section("Synthetic pedestrians").tables()
    ranges = {cells[0].strip("`"): cells[2] for cells in rows}
    for parameter, (low, high) in LIMITS.items():
        assert ranges[parameter] == f"{low} to {high}"
