from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.loading import load_component


@pytest.fixture
def message_of(fake_dist, scan):
    """A function that installs a head whose module imports something, and tries to load it."""

    def run(module: str, *requires: str, direct_url: object = None) -> str:
        fake_dist(
            "fake-a",
            {"heads": {"part": "fake_needy.inner:Part"}},
            requires=requires,
            modules={"fake_needy/__init__.py": "", "fake_needy/inner.py": f"import {module}\n"},
            direct_url=direct_url,
        )
        with pytest.raises(PluginError) as raised:
            load_component(scan().find("heads", "part"))
        assert isinstance(raised.value.__cause__, ModuleNotFoundError)
        return str(raised.value)

    return run


@pytest.mark.parametrize(
    ("requirement", "command"),
    [
        ("not_there_at_all>=2", "pip install 'not_there_at_all>=2'"),
        ("Not.There-At_All", "pip install 'Not.There-At_All'"),
        ("not-there-at-all; extra == 'gpu'", "pip install 'fake-a[gpu]'"),
        ('not-there-at-all; python_version > "3" and extra == "gpu"', "pip install 'fake-a[gpu]'"),
    ],
)
def test_a_missing_requirement_is_named_with_the_command(
    message_of, requirement: str, command: str
) -> None:
    text = message_of("not_there_at_all.deep", "torch", "no requirement at all", requirement)
    assert "ModuleNotFoundError: No module named 'not_there_at_all'" in text
    assert text.endswith(f"; fake-a requires not_there_at_all, which is missing: {command}")


def test_a_missing_module_that_is_not_required_is_the_authors_to_mend(message_of) -> None:
    text = message_of("not_there_at_all", "torch")
    assert text.startswith("head 'part' of fake-a 1.0 (fake_needy.inner:Part) cannot be loaded: ")
    assert "fake_needy/inner.py:1); " in text
    assert text.endswith(
        "; not_there_at_all is missing, and fake-a does not say that it requires it: install the "
        "package that provides not_there_at_all, and report it to the author of fake-a"
    )


def test_a_missing_module_of_its_own_means_a_broken_installation(message_of) -> None:
    text = message_of("fake_needy.other", "fake-needy")
    assert text.endswith("; reinstall or update it: pip install --upgrade fake-a")


def editable(folder: Path) -> object:
    return {"url": folder.as_uri(), "dir_info": {"editable": True}}


def test_an_editable_installation_is_mended_in_its_sources(message_of, tmp_path) -> None:
    text = message_of("fake_needy.other", direct_url=editable(tmp_path))
    assert text.endswith(
        "; fake-a is installed in editable mode: mend its sources, or its pyproject.toml and "
        f"install it again: pip install -e {tmp_path}"
    )


def test_a_mistake_in_editable_sources_has_nothing_to_do_with_the_installation(
    fake_dist, scan, tmp_path
) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_odd:Part"}},
        modules={"fake_odd.py": "raise ValueError('odd')\n"},
        direct_url=editable(tmp_path),
    )
    with pytest.raises(PluginError, match=r"editable mode: mend its sources$"):
        load_component(scan().find("heads", "part"))


def test_a_module_that_an_editable_project_does_not_require_may_be_misspelt(
    message_of, tmp_path
) -> None:
    text = message_of("troch", "torch", direct_url=editable(tmp_path))
    assert text.endswith(
        "; troch is missing, and fake-a does not require it: mend its sources, or add the package "
        "that provides troch to its dependencies and install it again: "
        f"pip install -e {tmp_path}"
    )


def test_an_editable_project_that_was_moved_is_installed_from_its_new_place(
    message_of, tmp_path
) -> None:
    text = message_of("fake_needy.other", direct_url=editable(tmp_path / "old"))
    assert text.endswith(
        f"; fake-a is installed in editable mode from {tmp_path / 'old'}, which is not there any "
        "more: pip install -e <where the project is now>"
    )
