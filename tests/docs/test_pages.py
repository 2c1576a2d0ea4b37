"""Links lead somewhere, public names are listed, and the HTML builds without a warning."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import reid_core

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/*.md", "docs/kinds/*.md")
    for path in ROOT.glob(pattern)
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """Return the anchors that headings get, on GitHub and from Sphinx alike."""
    titles = re.findall(r"^#{1,3} (.+)$", page.prose, re.M)
    words = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {word.strip().replace(" ", "-") for word in words}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_a_file_and_a_heading(name, page):
    this = page(name)
    for link in _LINK.findall(this.prose):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (this.path.parent / path).resolve() if path else this.path
        assert target.is_file(), f"{name} links to {link}"
        if anchor:
            assert anchor in anchors(page(str(target.relative_to(ROOT)))), f"{name} links to {link}"


def test_every_page_is_in_the_table_of_contents(page):
    index = page("docs/index.md").text
    listed = set(re.findall(r"^([\w/]+)$", index, re.M))
    names = {name.removeprefix("docs/").removesuffix(".md") for name in PAGES if "/" in name}
    assert listed == names - {"index"}


def test_the_readme_links_to_every_page(page):
    linked = set(_LINK.findall(page("README.md").prose))
    without = {"index", "changelog"}
    for path in (ROOT / "docs").glob("*.md"):
        assert path.stem in without or f"docs/{path.name}" in linked


def test_pages_hold_no_html():
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        prose = re.sub(r"`[^`\n]*`", "", re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.M | re.S))
        assert not re.search(r"</?[a-z]+[^>]*>", prose, re.I), name


def test_the_public_names_of_the_package_are_listed(page):
    first = page("docs/api.md").prose.partition("## ")[0]
    listed = set(re.findall(r"`(\w+)`", first)) - {"reid_core", "__version__"}
    assert listed == set(reid_core.__all__)


def test_documented_modules_and_registries_exist(page):
    text = page("docs/api.md").text
    for module in re.findall(r"automodule:: ([\w.]+)", text):
        importlib.import_module(module)
    registries = importlib.import_module("reid_core.plugins.registries")
    section = page("docs/api.md").section("Plugins").prose
    there = {name for name in registries.__all__ if name.isupper()}
    assert set(re.findall(r"`([A-Z]+)`", section)) == there


def test_all_packages_have_the_version_of_the_changelog(page):
    version = re.search(r"^## (\d[\d.]*)", page("CHANGELOG.md").text, re.M)[1]
    for path in (ROOT / "core/pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")):
        assert tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"] == version


@pytest.mark.slow
def test_the_html_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "index.html").is_file()
