from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from reid_core.cli.config import main
from reid_core.config import Config, load_config
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.metadata import installed_version
from reid_core.plugins.switches import switches_of_environment


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "f.yaml"
    path.write_text("train: {epochs: 3}\nmodel:\n  losses: [{name: tiny_loss, weight: 0.5}]\n")
    return path


@pytest.fixture
def osnet() -> str:
    if installed_version("reid-plugin-osnet") is None:
        pytest.skip("reid-plugin-osnet is not installed")
    return "osnet/osnet_x0_25"


def test_show_prints_the_resolved_configuration_as_yaml(recipe: Path, tmp_path: Path) -> None:
    result = run("show", str(recipe), "--set", "optimizer.lr=1e-4", "--set", "seed=7")
    assert (result.exit_code, result.stderr) == (0, "")
    plain = yaml.safe_load(result.stdout)
    assert plain["seed"] == 7
    optimizer = plain["train"]["optimizer"]
    shown = {key: optimizer[key] for key in ("name", "lr", "weight_decay")}
    assert shown == {"name": "adam", "lr": 0.0001, "weight_decay": 0.0005}
    loss = {"name": "tiny_loss", "weight": 0.5, "branches": None, "gather": False}
    assert plain["model"]["losses"] == [loss]
    assert plain.keys() == Config().plain().keys()
    again = tmp_path / "again.yaml"
    again.write_text(result.stdout)
    assert run("show", str(again)).stdout == result.stdout


def test_a_recipe_that_a_package_ships_is_shown_by_name(osnet: str) -> None:
    result = run("show", osnet)
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout)["model"]["backbone"] == {"name": "osnet_x0_25"}


@pytest.mark.parametrize("command", ["show", "check"])
def test_every_mistake_is_printed_without_a_traceback(
    command: str, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipe.parent)
    recipe.write_text("trian: {}\ntrain:\n  epochs: many\n")
    result = run(command, "f.yaml", "--set", "workers=-1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        "error: --set workers=-1  data.workers: input should be greater than or equal to 0, got -1",
        "f.yaml:1:1  trian: unknown key; did you mean train?",
        "f.yaml:3:3  train.epochs: input should be a valid integer, unable to parse string as an "
        "integer, got 'many'",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "nothing.yaml"], 2, "error: recipe nothing.yaml not found in"),
        (["show", "nobody/nothing"], 2, "error: unknown recipe 'nobody/nothing'"),
        (["show", "f.yaml", "--set", "seed"], 2, "error: --set 'seed': expected key=value"),
        (["show"], 2, "Usage: "),
        (["shwo"], 2, "Usage: "),
        (["check", "f.yaml", "--set", "optimizer.name=adaam"], 4,
         "error: --set optimizer.name=adaam  train.optimizer: unknown optimizer 'adaam'; did you "
         "mean adam?"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_exit_code(
    recipe: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(recipe.parent)
    result = run(*arguments)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_config_that_fits_is_ok_and_says_how_many_components(
    recipe: Path, tiny_recipe: Path
) -> None:
    result = run("check", str(tiny_recipe))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"ok: {tiny_recipe}, ")
    assert result.stdout.endswith(" components\n")


def test_wrong_parameters_of_components_are_told_with_their_place(
    tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_recipe.parent)
    text = tiny_recipe.read_text()
    tiny_recipe.write_text(
        text.replace("{name: tiny_backbone}", "{name: tiny_backbone, drpout: 1}")
    )
    result = run("check", "tiny.yaml", "--set", "backbone.dropout=much")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "tiny.yaml:3:35  model.backbone.drpout: " in result.stderr
    assert "did you mean dropout? (known: dropout)" in result.stderr
    assert "--set backbone.dropout=much  model.backbone.dropout: " in result.stderr


def test_recipes_are_listed_one_a_line_or_as_json(osnet: str) -> None:
    result = run("list")
    assert (result.exit_code, result.stderr) == (0, "")
    names = result.stdout.splitlines()
    assert osnet in names
    parsed = json.loads(run("list", "--json").stdout)
    assert parsed["schema"] == 1
    assert [entry["name"] for entry in parsed["recipes"]] == names
    for entry in parsed["recipes"]:
        assert load_config(entry["path"]).plain() == load_config(entry["name"]).plain()


def test_without_any_recipe_the_list_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reid_core.cli.config.list_recipes", dict)
    assert run("list").stdout == (
        "no installed package ships recipes; try: pip install reid-plugin-osnet\n"
    )
    assert json.loads(run("list", "--json").stdout)["recipes"] == []


@pytest.mark.parametrize(
    ("variable", "value", "undo"),
    [
        ("REID_NO_PLUGINS", "1", "REID_NO_PLUGINS; unset REID_NO_PLUGINS to use it"),
        ("REID_DISABLE_PLUGINS", "fake-a,fake-b",
         "REID_DISABLE_PLUGINS; take fake-a out of REID_DISABLE_PLUGINS to use it"),
    ],
)  # fmt: skip
def test_recipes_that_a_switch_hides_are_not_said_to_be_missing(
    variable: str, value: str, undo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    off = ComponentRef("recipes", "a", "m", "fake-a", "1.0", "disabled")
    head = ComponentRef("heads", "b", "m:B", "fake-b", "1.0", "disabled")
    index = PluginIndex((head, off), switches=switches_of_environment())
    monkeypatch.setattr("reid_core.cli.config.list_recipes", dict)
    monkeypatch.setattr("reid_core.cli.config.installed", lambda: index)
    result = run("list")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"the recipes of fake-a are disabled by {undo}\n"
