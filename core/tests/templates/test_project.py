from __future__ import annotations

import subprocess
import sys
import tomllib
from datetime import date

import pytest
import yaml

from reid_core.errors import PluginError, UsageError
from reid_core.plugins.metadata import PLUGIN_API
from reid_core.templates import TEMPLATE_KINDS
from reid_core.templates.writer import write_project

EVERYWHERE = {
    ".github/workflows/ci.yml",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "src/reid_plugin_my_part/__init__.py",
    "src/reid_plugin_my_part/my_part.py",
    "src/reid_plugin_my_part/py.typed",
    "src/reid_plugin_my_part/recipes/example.yaml",
    "tests/test_conformance.py",
    "tests/test_my_part.py",
}


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_a_project_is_a_complete_distribution(kind, render):
    project = render(kind)
    own = {"src/reid_plugin_my_part/example_set.py", "tests/conftest.py"}
    assert set(project.files) == EVERYWHERE | (own if kind == "dataset" else set())
    for path, text in project.files.items():
        assert text.endswith("\n") or path.endswith("py.typed"), path
        assert "{%" not in text, path
        assert "{{" not in text.replace("${{ matrix.python }}", ""), path
        assert "\t" not in text, path
        assert not any(line != line.rstrip() for line in text.splitlines()), path


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_the_metadata_declares_component_recipe_and_api(kind, render):
    template = TEMPLATE_KINDS[kind]
    project = tomllib.loads(render(kind).files["pyproject.toml"])["project"]
    attribute = "my_part" if kind == "dataset" else "MyPart"
    assert project["name"] == "reid-plugin-my-part"
    assert project["entry-points"] == {
        f"reid_core.{template.kind}": {"my_part": f"reid_plugin_my_part.my_part:{attribute}"},
        "reid_core.recipes": {"my_part": "reid_plugin_my_part.recipes"},
        "reid_core.plugin_api": {str(PLUGIN_API): "reid_plugin_my_part"},
    }
    assert project["license"] == "Apache-2.0"
    assert project["requires-python"] == ">=3.11"


@pytest.mark.parametrize(
    ("installed", "floor"),
    [("0.1.0", "0.1"), ("1.12.3", "1.12"), ("0.2.0rc1", "0.2.0rc1"), ("2.0.0.dev3", "2.0.0.dev3")],
)
def test_the_floor_is_the_installed_core_and_there_is_no_limit(
    installed, floor, render, monkeypatch
):
    monkeypatch.setattr("reid_core.templates.project.installed_version", lambda dist: installed)
    project = tomllib.loads(render("loss").files["pyproject.toml"])["project"]
    assert project["dependencies"] == [f"reid-core>={floor}", "torch>=2.6"]
    assert project["optional-dependencies"]["example"] == [f"reid-plugin-osnet>={floor}"]
    assert f"reid-plugin-osnet>={floor}" in project["optional-dependencies"]["test"]


def test_a_core_that_is_not_installed_is_an_error(render, monkeypatch):
    monkeypatch.setattr("reid_core.templates.project.installed_version", lambda dist: None)
    with pytest.raises(PluginError, match="reid-core is on the path but not installed"):
        render("loss")


def test_a_backbone_needs_no_other_backbone(render):
    project = tomllib.loads(render("backbone").files["pyproject.toml"])["project"]
    assert project["optional-dependencies"]["example"] == [
        "reid-plugin-heads>=0.1",
        "reid-plugin-losses>=0.1",
    ]


@pytest.mark.parametrize("author", ["Ada Lovelace", 'Ada "Al" O\'Neill \\ Söhne <ada@example.org>'])
def test_the_author_is_in_licence_and_metadata(author, render):
    files = render("loss", author=author).files
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["authors"] == [{"name": author}]
    assert f"Copyright {date.today().year} {author}\n" in files["LICENSE"]


def test_without_an_author_it_is_the_authors_of_the_plugin(render):
    files = render("loss").files
    assert f"Copyright {date.today().year} The authors of reid-plugin-my-part\n" in files["LICENSE"]


def test_an_author_is_one_line(render):
    with pytest.raises(UsageError, match=r"--author 'Ada\\nBob': expected one line"):
        render("loss", author="Ada\nBob")


def test_the_licence_is_the_one_of_this_project(render):
    text = render("loss").files["LICENSE"]
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert text.rstrip().endswith("limitations under the License.")


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_the_recipe_names_the_component_and_only_what_the_extra_installs(kind, render):
    project = render(kind)
    recipe = yaml.safe_load(project.files["src/reid_plugin_my_part/recipes/example.yaml"])
    metadata = tomllib.loads(project.files["pyproject.toml"])["project"]
    assert project.recipe == "my_part/example"
    assert recipe["plugins"]["require"] == metadata["optional-dependencies"]["example"]
    assert "my_part" in str({**recipe, "description": ""})


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
@pytest.mark.parametrize("name", ["a", "my-part", "a-name-that-has-thirty-letters"])
def test_the_sources_follow_the_style_that_the_project_asks_for(kind, name, render, tmp_path):
    folder = write_project(render(kind, name), tmp_path)
    for arguments in (["check"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--no-cache", "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_nothing_points_to_a_place_that_is_not_the_authors(kind, render):
    files = render(kind).files
    links = [
        (path, word)
        for path, text in files.items()
        for word in text.split()
        if "://" in word
        and "apache.org" not in word
        and word != "https://download.pytorch.org/whl/cpu"
    ]
    assert links == []
