from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.editable import (
    editable_dists,
    forgotten_install,
    install_again,
    source_folder,
    source_of,
)

VALUE = "reid_plugin_x.fisher:Fisher"


@pytest.fixture
def project(tmp_path: Path, fake_dist):
    """A function that installs a project in editable mode, and then changes its pyproject.toml."""

    def run(
        written: dict[str, dict[str, str]],
        installed: dict[str, dict[str, str]],
        *,
        name: str = "reid-plugin-x",
    ) -> Path:
        folder = tmp_path / "my project"
        folder.mkdir()
        lines = [f'[project]\nname = "{name}"\nversion = "1.0"']
        for kind, entries in written.items():
            lines.append(f'[project.entry-points."reid_core.{kind}"]')
            lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in entries.items()]
        (folder / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
        url = {"url": folder.as_uri(), "dir_info": {"editable": True}}
        fake_dist("reid-plugin-x", installed, direct_url=url)
        return folder

    return run


@pytest.mark.parametrize("name", ["fisher", "reid-plugin-x/fisher", "Reid_Plugin.X/fisher"])
def test_a_component_that_was_written_after_the_installation_is_told_with_the_command(
    project, scan, name: str
) -> None:
    folder = project({"losses": {"centre": VALUE, "fisher": VALUE}}, {"losses": {"centre": VALUE}})
    with pytest.raises(PluginError) as raised:
        scan("reid-plugin-x").find("losses", name)
    assert str(raised.value) == (
        f"unknown loss {name!r}; reid-plugin-x declares it in {folder / 'pyproject.toml'}, which "
        f"has changed since it was installed: pip install -e {shlex.quote(str(folder))}"
    )


def test_an_alias_and_a_new_name_of_the_distribution_are_found_too(project) -> None:
    project({"aliases": {"losses.fisher": "centre"}}, {}, name="reid-plugin-y")
    assert forgotten_install("losses", "fisher").startswith("reid-plugin-y declares it in ")
    assert forgotten_install("losses", "reid-plugin-y/fisher")


def test_what_is_installed_or_declared_nowhere_is_not_told(project) -> None:
    project(
        {"losses": {"centre": VALUE}, "heads": {"fisher": VALUE}}, {"losses": {"centre": "a:b"}}
    )
    assert forgotten_install("losses", "centre") == ""
    assert forgotten_install("losses", "fisher") == ""
    assert forgotten_install("heads", "reid-plugin-z/fisher") == ""


@pytest.mark.parametrize("content", [None, b"[project", b'[project]\nname = "\xff"'])
def test_a_project_that_cannot_be_read_says_nothing(project, content: bytes | None) -> None:
    file = project({"losses": {"fisher": VALUE}}, {}) / "pyproject.toml"
    assert forgotten_install("losses", "fisher")
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert forgotten_install("losses", "fisher") == ""


def test_of_two_copies_the_first_counts(fake_dist, tmp_path: Path) -> None:
    url = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    fake_dist("fake-a", {}, version="2.0")
    fake_dist("fake-a", {}, version="1.0", direct_url=url)
    fake_dist("fake-b", {}, direct_url=url)
    names = [one.declared.name for one in editable_dists() if one.declared.name[:5] == "fake-"]
    assert names == ["fake-b"]
    assert (source_folder("fake-a"), source_folder("fake-b")) == (None, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"url": "file:///a"}',
        '{"url": "file:///a", "dir_info": {}}',
        '{"url": "https://a.invalid", "dir_info": {"editable": true}}',
    ],
)
def test_only_an_editable_folder_is_a_source(text: str) -> None:
    assert source_of(text) is None
    assert source_of('{"url": "file:///a%20b", "dir_info": {"editable": true}}') == Path("/a b")


def test_the_command_quotes_the_folder_or_leaves_it_to_be_filled_in(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    for missing in (None, folder):
        assert install_again(missing) == "pip install -e <where the project is now>"
    folder.mkdir()
    assert install_again(folder) == f"pip install -e '{folder}'"
