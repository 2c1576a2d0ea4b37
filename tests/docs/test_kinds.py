"""There is a page for each kind, and the package that the pages build works in all its parts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reid_core import testing
from reid_core.plugins.component_ref import singular
from reid_core.plugins.index import KINDS

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("docs_kinds")

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = KINDS


def test_there_is_a_page_for_each_kind_and_no_other():
    assert {path.stem for path in (ROOT / "docs/kinds").glob("*.md")} == set(DOCUMENTED)


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_each_page_has_the_same_sections(kind, page):
    headings = re.findall(r"^## (.+)$", page(f"docs/kinds/{kind}.md").prose, re.M)
    assert headings == ["Contract", "Example", "Test it", "Common mistakes"]


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_each_page_uses_the_class_of_the_kit(kind, page):
    (name,) = {singular(kind).capitalize() + "Conformance"} & set(testing.__all__)
    (block,) = page(f"docs/kinds/{kind}.md").section("Test it").blocks("py")
    assert f"({name}):" in block.text


@pytest.mark.parametrize("kind", DOCUMENTED)
def test_the_overview_links_to_each_page(kind, page):
    assert f"](kinds/{kind}.md)" in page("docs/plugins.md").prose


@pytest.fixture(scope="module")
def package(page, tmp_path_factory, install_sources):
    """The package that all pages together are, installed."""
    folder = tmp_path_factory.mktemp("kinds")
    entry_points = []
    for kind in DOCUMENTED:
        for block in page(f"docs/kinds/{kind}.md").blocks("toml", "py", "yml"):
            if block.file:
                path = folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            elif block.language == "toml":
                entry_points.append(block.text)
    pyproject = folder / "pyproject.toml"
    pyproject.write_text("\n".join([pyproject.read_text(encoding="utf-8"), *entry_points]))
    install_sources(folder)
    return folder


@pytest.fixture(scope="module")
def command(package, python_in):
    """Run one of our commands, the package being installed."""
    return lambda module, *arguments: python_in(package, "-c", entry(module), *arguments)


def entry(module):
    return f"import sys; from reid_core.cli import {module}; sys.exit({module}.main(sys.argv[1:]))"


def test_each_kind_is_listed(command):
    result = command("plugins", "list", "--dist", "reid-plugin-small", "--json")
    listed = json.loads(result.stdout)["components"]
    assert {one["kind"]: one["status"] for one in listed} == dict.fromkeys(DOCUMENTED, "ok")


def test_the_recipe_uses_every_component_but_the_reader(command, package):
    shown = command("plugins", "list", "--dist", "reid-plugin-small", "--json").stdout
    names = {one["name"] for one in json.loads(shown)["components"]} - {"small"}
    recipe = (package / "src/reid_plugin_small/recipes/tiny.yaml").read_text(encoding="utf-8")
    assert {name for name in names if not re.search(rf"\b{name}\b", recipe)} == {"table"}


def test_the_recipe_trains_and_resumes(command, package):
    run = package / "runs/kinds"
    result = command("train", "--config", "small/tiny", "--output", str(run), "--device", "cpu")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "clipped" in row] == [2, 4, 6, 8]
    assert any("uniformity/cosine" in row for row in rows)
    results = json.loads((run / "results.json").read_text())
    assert {one["protocol"] for one in results["evaluations"]} == {"all_cameras"}
    changed = ("--set", "train.epochs=6", "--changes", "use")
    again = command("train", "--resume", str(run), *changed)
    assert again.returncode == 0, again.stderr
    assert json.loads((run / "status.json").read_text())["step"] == 12


def test_the_reader_reads_a_table(package, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(package / "src"))
    from reid_plugin_small.dataset import table

    lines = ["path,pid,camid,split", "a.jpg,anna,1,train", "b.jpg,anna,2,train"]
    (tmp_path / "images.csv").write_text("\n".join(lines))
    assert table(root=str(tmp_path)).summary() == "table: train 2 images of 1 id, 2 cameras"


@pytest.mark.slow
def test_the_package_passes_the_tests_that_the_pages_show(package, python_in):
    pytest_options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    result = python_in(package, "-m", "pytest", *pytest_options, "tests")
    assert result.returncode == 0, result.stdout[-5000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 10 * len(DOCUMENTED) / 2


def test_the_package_has_no_fault(command):
    result = command("plugins", "check", "reid-plugin-small")
    assert "no faults, no warnings" in result.stdout, result.stdout
