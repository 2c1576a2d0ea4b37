from __future__ import annotations

import pytest

from reid_core.config.nodes import Node, Origin, merge, put
from reid_core.config.yaml_reader import read_value, read_yaml


def node(text: str, source: str = "f.yaml") -> Node:
    return read_yaml(text, source)


def merged(base: str, over: str) -> object:
    return merge(node(base), node(over)).plain()


def test_mappings_merge_key_by_key_and_the_rest_is_replaced() -> None:
    assert merged("a: {x: 1, y: 2}\nb: 1", "a: {y: 3, z: 4}") == {
        "a": {"x": 1, "y": 3, "z": 4},
        "b": 1,
    }
    assert merged("a: [1, 2, 3]", "a: [4]") == {"a": [4]}
    assert merged("a: {x: 1}", "a: null") == {"a": None}
    assert merged("a: 1", "a: {x: 1}") == {"a": {"x": 1}}


def test_neither_side_of_a_merge_changes() -> None:
    base, over = node("a: {x: 1}"), node("a: {y: 2}")
    merge(base, over)
    assert (base.plain(), over.plain()) == ({"a": {"x": 1}}, {"a": {"y": 2}})


@pytest.mark.parametrize("key", ["name", "sampler"])
def test_another_component_replaces_the_old_one_whole(key: str) -> None:
    base = f"part: {{{key}: first, size: 1}}"
    assert merged(base, f"part: {{{key}: second, p: 2}}") == {"part": {key: "second", "p": 2}}
    assert merged(base, f"part: {{{key}: first, p: 2}}") == {
        "part": {key: "first", "size": 1, "p": 2}
    }
    assert merged(base, "part: {size: 2}") == {"part": {key: "first", "size": 2}}


def test_a_merged_value_keeps_the_place_where_it_was_written() -> None:
    both = merge(node("a: {x: 1, y: 2}", "base"), node("\na: {y: 3}", "over"))
    assert str(both.origin_of(("a", "x"))) == "base:1:5"
    assert str(both.origin_of(("a", "y"))) == "over:2:5"


def test_the_place_of_what_is_not_there_is_that_of_its_deepest_part() -> None:
    root = node("a:\n  b: 1\n")
    assert str(root.origin_of(("a", "missing", "deep"))) == "f.yaml:1:1"
    assert str(root.origin_of(("a", "b", "deep"))) == "f.yaml:2:3"


def test_a_child_is_found_by_key_or_position() -> None:
    root = node("list: [a, b]\n1: x")
    assert root.child("list").child(1).plain() == "b"
    assert root.child(1).plain() == "x"
    assert root.child("list").child(2) is None
    assert root.child("list").child(-1) is None
    assert root.child("list").child("0") is None
    assert root.child("list").child(0).child("x") is None


def setting(text: str, path: tuple[str | int, ...], value: str) -> object:
    return put(node(text), path, read_value(value, "--set")).plain()


def test_a_value_is_set_at_a_path_and_missing_mappings_are_made() -> None:
    assert setting("a: {x: 1}", ("a", "x"), "2") == {"a": {"x": 2}}
    assert setting("a: 1", ("b", "c", "d"), "2") == {"a": 1, "b": {"c": {"d": 2}}}
    assert setting("a: null", ("a", "b"), "2") == {"a": {"b": 2}}
    assert setting("a: [{x: 1}, {x: 2}]", ("a", 1, "x"), "3") == {"a": [{"x": 1}, {"x": 3}]}
    assert setting("a: [1, 2]", ("a", 0), "5") == {"a": [5, 2]}
    assert setting("a: {1: x}", ("a", 1), "5") == {"a": {"1": 5}}


def test_setting_a_mapping_merges_and_setting_a_list_replaces() -> None:
    assert setting("a: {x: 1}", ("a",), "{y: 2}") == {"a": {"x": 1, "y": 2}}
    assert setting("a: {name: m, x: 1}", ("a",), "{name: n}") == {"a": {"name": "n"}}
    assert setting("a: [1, 2]", ("a",), "[3]") == {"a": [3]}


def test_setting_leaves_the_old_node_as_it_was() -> None:
    root = node("a: [{x: 1}]")
    put(root, ("a", 0, "x"), Node(2, Origin("--set")))
    assert root.plain() == {"a": [{"x": 1}]}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("a", 2), "2 is no position of the list: it has 0 to 1"),
        (("a", "x"), "'x' is no position of the list: it has 0 to 1"),
        (("empty", 0), "0 is no position of the list: it is empty"),
        (("n", "x"), "'x' cannot be set inside the value 1"),
        (("n", 0), "0 cannot be set inside the value 1"),
        (("m", 0), "there is a mapping of x, no list that has a position 0"),
        (("nothing", 0, "x"), "there is nothing, no list that has a position 0"),
    ],
)
def test_a_path_that_leads_nowhere_is_told(path: tuple[str | int, ...], message: str) -> None:
    with pytest.raises(LookupError) as raised:
        put(node("a: [1, 2]\nempty: []\nn: 1\nm: {x: 1}"), path, Node(1, Origin("--set")))
    assert raised.value.args[0] == message
