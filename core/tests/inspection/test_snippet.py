from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reid_core.config import load_config
from reid_core.config.schema import DEFAULT_HOOKS
from reid_core.engine.check import check_config
from reid_core.inspection.component_view import view_of
from reid_core.inspection.parameter_table import ParameterRow
from reid_core.inspection.recipe_checks import recipes_of
from reid_core.inspection.snippet import snippet_of
from reid_core.plugins.component_ref import KINDS, ComponentRef
from reid_core.plugins.index import PluginIndex

ROWS = (
    ParameterRow("num_classes", "int", True, "", True),
    ParameterRow("root", "str | Path", True, "", False),
    ParameterRow("margin", "float", False, "0.3", False),
    ParameterRow("untyped", "", True, "", False),
    ParameterRow("**options", "str", False, "", False),
)

BODY = """\
name: mine
root: <str | Path>  # required
# margin: 0.3
untyped: <untyped>  # required
"""

FIRST_PARTY = [
    ref for ref in PluginIndex.scan(switches=()).refs if ref.editable and ref.status == "ok"
]


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("kind", "above"),
    [
        ("backbones", "model:\n  backbone:\n"),
        ("heads", "model:\n  head:\n"),
        ("schedules", "train:\n  schedule:\n"),
        ("protocols", "evaluate:\n  protocol:\n"),
    ],
)
def test_a_component_stands_at_its_place(kind: str, above: str) -> None:
    assert snippet_of(kind, "mine", ROWS) == above + indented(BODY, 4)


def test_a_component_of_a_list_is_an_item_of_it() -> None:
    assert snippet_of("datasets", "reid-plugin-x/mine", ROWS[1:3]) == (
        "data:\n  train:\n    - name: reid-plugin-x/mine\n      root: <str | Path>  # required\n"
        "      # margin: 0.3\n"
    )
    assert snippet_of("hooks", "mine", ROWS[2:3]) == "hooks:\n  - name: mine\n    # margin: 0.3\n"


def test_a_sampler_has_a_key_of_its_own_and_a_loss_its_weight() -> None:
    assert snippet_of("samplers", "mine", ()) == "data:\n  batch:\n    sampler: mine\n"
    assert snippet_of("losses", "mine", ()) == (
        "model:\n  losses:\n    - name: mine\n      # weight: 1.0\n"
    )


def test_an_optimizer_shows_the_defaults_that_a_run_would_use() -> None:
    rows = [ParameterRow("lr", "float", False, "0.001", False)]
    rows.append(ParameterRow("weight_decay", "float", True, "", False))
    lines = snippet_of("optimizers", "mine", rows).splitlines()
    assert lines[3:] == ["    # lr: 0.00035", "    # weight_decay: 0.0005"]


def test_a_default_hook_is_shown_among_the_others_which_the_list_would_drop() -> None:
    rows = [ParameterRow("every", "int", False, "1", False)]
    snippet = snippet_of("hooks", "console", rows)
    hooks = yaml.safe_load(snippet)["default_hooks"]
    assert [hook["name"] for hook in hooks] == list(DEFAULT_HOOKS)
    assert "  - name: console\n    # every: 1\n" in snippet


def test_recipes_are_extended_and_a_package_without_any_has_no_lines() -> None:
    assert snippet_of("recipes", "mine", (), recipes=["mine/a", "mine/b"]) == "extends: mine/a\n"
    assert snippet_of("recipes", "mine", ()) == ""


def test_there_is_a_place_for_every_kind() -> None:
    without = {kind for kind in KINDS if not snippet_of(kind, "mine", (), recipes=["a/b"])}
    assert not without


#: What to put in for the parameters without a default.
FILLED = {
    "root": ".",
    "file": "images.csv",
    "model_name": "resnet18",
    "milestones": "[2]",
    "optimizer": "lamb",
    "gamma": "0.9",
    "modules": "[backbone]",
    "start_epoch": "1",
    "loss": "TripletMarginLoss",
    "weights": "{train: 2}",
    "num_attributes": "3",
    "lists": "[images.txt]",
}


#: Lines for parameters of which one of several has to be given.
ALTERNATIVES = {("hooks", "freeze"): ["    steps: 5"]}


@pytest.mark.parametrize("ref", FIRST_PARTY, ids=lambda ref: f"{ref.kind}-{ref.name}")
def test_the_snippet_of_every_component_of_ours_loads_and_fits(
    ref: ComponentRef, tmp_path: Path
) -> None:
    snippet = view_of(ref, PluginIndex.scan(switches=()), ()).snippet
    lines = []
    for line in snippet.splitlines():
        key = line.strip().removeprefix("- ").partition(":")[0]
        lines.append(line.partition("<")[0] + FILLED[key] if "# required" in line else line)
    lines += ALTERNATIVES.get((ref.kind, ref.name), [])
    path = tmp_path / "snippet.yaml"
    path.write_text("\n".join(lines))
    assert ref in check_config(load_config(path)) or (ref.kind == "recipes" and recipes_of(ref))
