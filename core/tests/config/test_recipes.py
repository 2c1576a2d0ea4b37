from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reid_core.config import list_recipes, load_config
from reid_core.config.recipes import find_recipe
from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.index import PluginIndex, disabled_plugins, rescan

Ship = Callable[..., Path]


@pytest.fixture
def ship(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ship]:
    """A function that installs a distribution with recipes, of which no module can be imported."""
    original, roots = list(sys.path), []

    def install(
        dist: str,
        name: str,
        files: dict[str, str],
        value: str | None = None,
        requires: str = "reid-core",
    ) -> Path:
        root = tmp_path / dist
        package = f"{dist.replace('-', '_')}_modules"
        info = root / f"{dist.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\nRequires-Dist: {requires}\n"
        )
        entry = f"[reid_core.recipes]\n{name} = {value or f'{package}.recipes'}\n"
        (info / "entry_points.txt").write_text(entry)
        for file, text in {"__init__.py": "raise SystemExit(3)", **files}.items():
            path = root / package / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        roots.append(str(root))
        monkeypatch.setattr(sys, "path", [*roots, *original])
        rescan()
        return root / package

    yield install
    monkeypatch.undo()
    rescan()


def message_of(name: str, error: type[Exception] = ConfigError, **options: Path) -> str:
    with pytest.raises(error) as raised:
        find_recipe(name, **options)
    return str(raised.value)


def test_a_shipped_recipe_is_found_by_name_without_an_import(ship) -> None:
    package = ship("fake-a", "fake", {"recipes/small.yaml": "seed: 5", "recipes/x.txt": ""})
    assert find_recipe("fake/small") == package / "recipes" / "small.yaml"
    assert load_config("fake/small").seed == 5
    assert load_config("fake/small").name == "small"
    assert not [name for name in sys.modules if name.startswith("fake_a")]


def test_recipes_are_listed_by_name_without_an_import(ship) -> None:
    package = ship(
        "fake-a",
        "fake",
        {"recipes/b.yaml": "", "recipes/a.yml": "", "recipes/deep/c.yaml": "", "recipes/n.txt": ""},
    )
    found = {k: v for k, v in list_recipes(PluginIndex.scan()).items() if k.startswith("fake/")}
    assert found == {
        "fake/a": package / "recipes" / "a.yml",
        "fake/b": package / "recipes" / "b.yaml",
        "fake/deep/c": package / "recipes" / "deep" / "c.yaml",
    }
    assert not [name for name in sys.modules if name.startswith("fake_a")]
    for name, path in found.items():
        assert find_recipe(name) == path


def test_a_recipe_may_extend_a_shipped_one_and_a_shipped_one_its_neighbour(ship, write) -> None:
    ship(
        "fake-a",
        "fake",
        {
            "recipes/base.yaml": "seed: 5\ndevice: cpu",
            "recipes/sub/child.yaml": "extends: ../base.yaml\nseed: 6",
        },
    )
    config = load_config(write("f.yaml", "extends: fake/sub/child\ndescription: mine"))
    assert (config.seed, config.device, config.description) == (6, "cpu", "mine")


def test_an_unknown_recipe_is_answered_with_the_nearest_and_all_there_are(ship) -> None:
    ship("fake-a", "fake", {"recipes/small.yaml": "", "recipes/large.yaml": ""})
    text = message_of("fake/smal")
    assert text.startswith("unknown recipe 'fake/smal'; did you mean fake/small?")
    assert "fake/large, fake/small" in text
    assert text.endswith("a file is named by its path and ends in .yaml")


def test_one_name_of_two_distributions_needs_the_qualified_spelling(ship) -> None:
    first = ship("fake-a", "fake", {"recipes/small.yaml": ""})
    second = ship("fake-b", "fake", {"recipes/small.yaml": ""})
    text = message_of("fake/small", PluginError)
    assert "say which one: fake-a/fake or fake-b/fake" in text
    assert find_recipe("fake-a/fake/small") == first / "recipes" / "small.yaml"
    assert find_recipe("fake-b/fake/small") == second / "recipes" / "small.yaml"
    names = [name for name in list_recipes() if "fake" in name]
    assert names == ["fake-a/fake/small", "fake-b/fake/small"]


def test_a_conflict_in_extends_is_told_with_its_place(ship, write) -> None:
    for dist in ("fake-a", "fake-b"):
        ship(dist, "fake", {"recipes/small.yaml": ""})
    path = write("f.yaml", "seed: 0\nextends: fake/small\n")
    with pytest.raises(PluginError, match=r"^f\.yaml:2:1  extends: recipe 'fake' is provided by 2"):
        load_config(path)


@pytest.mark.parametrize("value", ["not_there.recipes", "fake_a_modules.nowhere", "json.decoder"])
def test_a_broken_distribution_is_left_out_of_the_list_and_told_when_it_is_used(
    ship, value: str
) -> None:
    ship("fake-a", "broken", {}, value)
    ship("fake-b", "whole", {"recipes/small.yaml": ""})
    names = [name for name in list_recipes() if name.startswith(("broken", "whole"))]
    assert names == ["whole/small"]
    text = message_of("broken/small", PluginError)
    assert f"recipes 'broken' of fake-a 1.0 lie in {value}" in text
    assert "pip install --force-reinstall fake-a" in text


def test_a_project_that_was_moved_is_installed_again_from_where_it_is(ship) -> None:
    folder = ship("fake-a", "moved", {}, "not_there.recipes")
    info = next(folder.parent.glob("**/fake_a-1.0.dist-info"))
    url = {"url": "file:///gone/fake-a", "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(url))
    rescan()
    text = message_of("moved/small", PluginError)
    assert "reinstall it: pip install -e " in text
    assert "--force-reinstall" not in text


def test_recipes_for_another_core_are_left_out_of_the_list_and_told_when_used(ship) -> None:
    ship("fake-a", "newer", {"recipes/small.yaml": ""}, requires="reid-core>=99")
    assert not [name for name in list_recipes() if name.startswith("newer")]
    assert "needs reid-core>=99" in message_of("newer/small", PluginError)


def test_a_second_name_works_and_is_not_listed(ship, caplog: pytest.LogCaptureFixture) -> None:
    package = ship("fake-a", "fake", {"recipes/small.yaml": ""})
    entries = next(package.parent.glob("*.dist-info/entry_points.txt"))
    aliases = "[reid_core.aliases]\nrecipes.mock = fake\n"
    old = "[reid_core.deprecated_aliases]\nrecipes.old = fake\n"
    entries.write_text(entries.read_text() + aliases + old)
    rescan()
    assert find_recipe("mock/small") == package / "recipes" / "small.yaml"
    assert caplog.messages == []
    for _ in range(2):
        assert find_recipe("old/small") == package / "recipes" / "small.yaml"
    assert caplog.messages == ["recipe 'old' of fake-a 1.0 is deprecated; write 'fake'"]
    names = [name for name in list_recipes() if name.endswith("/small")]
    assert names == ["fake/small"]


def test_recipes_of_this_project_that_are_not_installed_are_answered_with_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reid_core.config.recipes.installed", lambda: PluginIndex(()))
    monkeypatch.setattr("reid_core.plugins.refusals.installed_version", lambda dist: None)
    for name in ("osnet/osnet_x0_25", "reid-plugin-osnet/osnet/osnet_x0_25"):
        assert message_of(name) == (
            f"unknown recipe {name!r}; it is known to be provided by reid-plugin-osnet: pip "
            "install reid-plugin-osnet"
        )


def test_an_unknown_recipe_of_what_is_installed_is_not_answered_with_a_package(
    ship, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship("fake-a", "osnet", {"recipes/small.yaml": ""})
    only = tuple(ref for ref in PluginIndex.scan().refs if ref.dist == "fake-a")
    refs = tuple(replace(ref, status="ok") for ref in only)
    monkeypatch.setattr("reid_core.config.recipes.installed", lambda: PluginIndex(refs))
    assert message_of("osnet/smal").startswith(
        "unknown recipe 'osnet/smal'; did you mean osnet/small? (installed recipes: osnet/small)"
    )


def test_recipes_of_a_disabled_distribution_are_neither_listed_nor_found(ship) -> None:
    ship("fake-a", "fake", {"recipes/small.yaml": ""})
    with disabled_plugins(["fake-a"]):
        assert "fake/small" not in list_recipes()
        text = message_of("fake/small", PluginError)
    assert text == (
        "recipe 'fake' of fake-a 1.0 is disabled by plugins.disable; take fake-a out of "
        "plugins.disable to use it"
    )
    assert "fake/small" in list_recipes()


def test_a_file_is_found_from_the_working_directory_or_the_folder_given(write) -> None:
    write("sub/f.yaml", "seed: 1")
    write("f.yml", "seed: 2")
    assert find_recipe("sub/f.yaml") == Path("sub/f.yaml")
    assert find_recipe("f.yml") == Path("f.yml")
    assert find_recipe("f.yaml", relative_to=Path("sub")) == Path("sub/f.yaml")


def test_the_home_folder_is_expanded(write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("home/f.yaml", "seed: 1")
    monkeypatch.setenv("HOME", str(Path("home").resolve()))
    assert find_recipe("~/f.yaml").resolve() == Path("home/f.yaml").resolve()


def test_a_mistyped_file_is_answered_with_the_nearest_beside_it(write) -> None:
    write("sub/market.yaml", "")
    write("sub/duke.yaml", "")
    text = message_of("sub/markt.yaml")
    assert text.startswith("recipe sub/markt.yaml not found in ")
    assert text.endswith("; did you mean market.yaml? (sub holds duke.yaml, market.yaml)")


def test_a_file_in_a_folder_that_is_not_there_says_so(write) -> None:
    write("f.yaml", "")
    assert message_of("sbu/f.yaml") == "recipe sbu/f.yaml not found: there is no folder sbu"


def test_a_file_named_without_its_ending_is_answered_with_the_ending(write) -> None:
    write("sub/market.yaml", "")
    assert message_of("sub/market") == (
        "unknown recipe 'sub/market'; did you mean the file sub/market.yaml?"
    )


@pytest.mark.parametrize("name", ["", ".", "/", "..", "a/", "/a", "a//b"])
def test_a_name_that_cannot_be_one_is_unknown(write, name: str) -> None:
    assert message_of(name).startswith(f"unknown recipe {name!r}")
