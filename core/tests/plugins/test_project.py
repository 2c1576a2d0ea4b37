from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.errors import UsageError
from reid_core.plugins.declaration import DeclaredEntry
from reid_core.plugins.project import parse_project, read_project

TEXT = """
[build-system]
build-backend = "hatchling.build"
[project]
name = "Reid-Plugin_X"
version = "0.3"
dependencies = ["reid-core>=0.1"]
[project.entry-points."reid_core.heads"]
mine = "reid_plugin_x:Mine"
"""


def test_a_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(TEXT)
    project = read_project(tmp_path)
    assert (project.declared.dist, project.declared.version) == ("reid-plugin-x", "0.3")
    assert project.declared.requires == ("reid-core>=0.1",)
    assert project.declared.entries == (
        DeclaredEntry("reid_core.heads", "mine", "reid_plugin_x:Mine"),
    )
    assert (project.backend, project.has_entries) == ("hatchling.build", True)


def test_entry_points_may_be_left_to_the_build() -> None:
    text = '[project]\nname = "x"\ndynamic = ["version", "entry-points"]\n'
    project = parse_project(text, "pyproject.toml")
    assert (project.has_entries, project.declared.version, project.backend) == (False, "", "")


def test_a_folder_without_a_pyproject_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no pyproject.toml; expected the folder of a"):
        read_project(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project\n", r"p.toml cannot be read: .* line 1"),
        ("[tool.ruff]\n", r"p.toml has no name in \[project\]; expected the file of a plugin"),
        ("project = 3\n", r"has no name in \[project\]"),
    ],
)
def test_a_file_of_something_else_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_project(text, "p.toml")
