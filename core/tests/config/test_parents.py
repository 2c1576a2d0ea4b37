from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.config import load_config
from reid_core.config.parents import read_recipe
from reid_core.errors import ConfigError


def message_of(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        read_recipe(path)
    return str(raised.value)


def test_a_parent_is_found_relative_to_the_file_that_names_it(write) -> None:
    write("base/common.yaml", "seed: 1\ntrain: {epochs: 3, log_every: 5}\n")
    write("base/mid.yaml", "extends: common.yaml\ntrain: {epochs: 4}\n")
    path = write("mine/f.yaml", "extends: ../base/mid.yaml\ntrain: {precision: bf16}\n")
    assert read_recipe(path).plain() == {
        "seed": 1,
        "train": {"epochs": 4, "log_every": 5, "precision": "bf16"},
    }


def test_of_several_parents_the_last_one_wins_and_the_file_itself_wins_over_all(write) -> None:
    write("a.yaml", "seed: 1\ndevice: cpu\ndescription: a\n")
    write("b.yaml", "seed: 2\ndescription: b\n")
    path = write("f.yaml", "extends: [a.yaml, b.yaml]\ndescription: f\n")
    assert read_recipe(path).plain() == {"seed": 2, "device": "cpu", "description": "f"}


def test_lists_replace_those_of_the_parent(write) -> None:
    write("a.yaml", "train: {schedule: {name: multistep, milestones: [40, 70], gamma: 0.1}}\n")
    path = write("f.yaml", "extends: a.yaml\ntrain: {schedule: {milestones: [5]}}\n")
    schedule = {"name": "multistep", "milestones": [5], "gamma": 0.1}
    assert read_recipe(path).plain() == {"train": {"schedule": schedule}}


@pytest.mark.parametrize("parent", ["{name: timm, model_name: resnet50}", "timm"])
@pytest.mark.parametrize("child", ["{name: osnet, width: 2}", "{width: 2, name: osnet}"])
def test_a_component_of_another_name_replaces_that_of_the_parent(
    write, parent: str, child: str
) -> None:
    write("a.yaml", f"model: {{backbone: {parent}, head: bnneck}}\n")
    path = write("f.yaml", f"extends: a.yaml\nmodel: {{backbone: {child}}}\n")
    assert read_recipe(path).plain() == {
        "model": {"backbone": {"name": "osnet", "width": 2}, "head": {"name": "bnneck"}}
    }


@pytest.mark.parametrize(
    ("parent", "child", "merged"),
    [
        ("osnet", "{width: 2}", {"name": "osnet", "width": 2}),
        ("{name: osnet, width: 2}", "osnet", {"name": "osnet", "width": 2}),
        ("{name: osnet, width: 2}", "timm", {"name": "timm"}),
    ],
)
def test_a_bare_name_merges_like_a_mapping_that_has_only_the_name(
    write, parent: str, child: str, merged: object
) -> None:
    write("a.yaml", f"model: {{backbone: {parent}}}\n")
    path = write("f.yaml", f"extends: a.yaml\nmodel: {{backbone: {child}}}\n")
    assert read_recipe(path).plain() == {"model": {"backbone": merged}}


def test_another_sampler_takes_nothing_from_the_parents(write) -> None:
    write("a.yaml", "data: {batch: {sampler: identity, identities: 4, instances: 4}, workers: 0}\n")
    path = write("f.yaml", "extends: a.yaml\ndata: {batch: {sampler: random, size: 8}}\n")
    assert read_recipe(path).plain() == {
        "data": {"batch": {"sampler": "random", "size": 8}, "workers": 0}
    }


def test_recipes_may_share_a_parent(write) -> None:
    write("base.yaml", "seed: 1\n")
    write("a.yaml", "extends: base.yaml\n")
    write("b.yaml", "extends: base.yaml\ndevice: cpu\n")
    path = write("f.yaml", "extends: [a.yaml, b.yaml]\n")
    assert read_recipe(path).plain() == {"seed": 1, "device": "cpu"}


def test_recipes_that_extend_each_other_are_told_with_the_chain(write) -> None:
    write("a.yaml", "seed: 0\nextends: sub/b.yaml\n")
    write("sub/b.yaml", "extends:\n  - ../c.yaml\n")
    path = write("c.yaml", "extends: a.yaml\n")
    text = message_of(path)
    assert text.endswith(
        "sub/b.yaml:2:5  extends: recipes extend each other in a circle: "
        "c.yaml -> a.yaml -> b.yaml -> c.yaml"
    )


def test_a_recipe_that_extends_itself_is_a_circle(write) -> None:
    path = write("f.yaml", "extends: f.yaml\n")
    assert message_of(path).endswith("in a circle: f.yaml -> f.yaml")


def test_a_parent_that_is_missing_is_told_with_the_place_that_names_it(write) -> None:
    write("base.yaml", "")
    path = write("f.yaml", "seed: 0\nextends: [base.yaml, bsae.yaml]\n")
    text = message_of(path)
    assert text.startswith("f.yaml:2:22  extends: recipe bsae.yaml not found in ")
    assert "did you mean base.yaml?" in text


def test_a_parent_by_an_unknown_name_is_told_with_its_place(write) -> None:
    path = write("f.yaml", "extends: nobody/nothing\n")
    assert message_of(path).startswith("f.yaml:1:1  extends: unknown recipe 'nobody/nothing'")


@pytest.mark.parametrize("value", ["3", "{a: b}", "[1]", "[[a.yaml]]", "true"])
def test_extends_takes_a_name_or_a_list_of_names(write, value: str) -> None:
    path = write("f.yaml", f"extends: {value}\n")
    assert message_of(path).endswith("extends: expected a recipe name or a list of them")


@pytest.mark.parametrize("value", ["null", "[]", ""])
def test_extends_may_be_empty(write, value: str) -> None:
    assert read_recipe(write("f.yaml", f"extends: {value}\nseed: 1\n")).plain() == {"seed": 1}


def test_an_error_of_a_parent_names_the_parent(write) -> None:
    write("base.yaml", "seed: 0\nseed: 1\n")
    path = write("f.yaml", "extends: base.yaml\n")
    assert message_of(path).startswith("base.yaml:2:1  seed: key appears twice")
    write("base.yaml", "train:\n  epochs: none\n")
    with pytest.raises(ConfigError, match=r"^base\.yaml:2:3  train\.epochs: "):
        load_config(path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n"])
def test_an_empty_file_is_an_empty_recipe(write, text: str) -> None:
    assert read_recipe(write("f.yaml", text)).plain() == {}


@pytest.mark.parametrize(
    ("text", "got"), [("[1, 2]", "a list"), ("text", "'text'"), ("3", "3"), ("- a: 1", "a list")]
)
def test_a_file_that_is_no_mapping_is_refused(write, text: str, got: str) -> None:
    path = write("f.yaml", text)
    assert message_of(path) == f"f.yaml:1:1  a recipe is a mapping of keys, got {got}"


def test_a_byte_order_mark_is_no_part_of_the_first_key(write) -> None:
    path = write("f.yaml", "\ufeffseed: 1\n")
    node = read_recipe(path)
    assert node.plain() == {"seed": 1}
    assert str(node.origin_of(("seed",))) == "f.yaml:1:1"


def test_a_file_of_another_encoding_is_told_how_to_save_it(write, tmp_path: Path) -> None:
    path = write("f.yaml", "")
    (tmp_path / path).write_bytes("description: größe\n".encode("utf-16"))
    assert message_of(path).startswith("f.yaml  is no UTF-8 text (")
    assert message_of(path).endswith("save it as UTF-8")


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    assert message_of(tmp_path).endswith("cannot be read: Is a directory")
