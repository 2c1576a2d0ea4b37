from __future__ import annotations

import math

import pytest

from reid_core.config.nodes import Origin
from reid_core.config.yaml_reader import MAX_VALUES, plain_scalar, read_value, read_yaml
from reid_core.errors import ConfigError


def plain(text: str) -> object:
    return read_yaml(text, "f.yaml").plain()


def message_of(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        read_yaml(text, "f.yaml")
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 0.0001),
        ("1E-4", 0.0001),
        ("1.0e4", 10000.0),
        ("+1.5E+2", 150.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("-.5e1", -5.0),
        ("0.0", 0.0),
        ("10", 10),
        ("-3", -3),
        ("+3", 3),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
    ],
)
def test_an_unquoted_scalar_is_what_yaml_1_2_says(text: str, value: object) -> None:
    for found in (plain_scalar(text), plain(f"key: {text}")["key"]):
        assert found == value
        assert type(found) is type(value)


def test_not_a_number_is_one() -> None:
    assert math.isnan(plain("key: .nan")["key"])


@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "on", "off", "y", "NO", "tRuE"),
        *("12:30:00", "1:30", "2024-01-01", "1_000", "1,000", "0b11", "-0x1f", "0x", "1e", "e5"),
        *("..", ".", "+", "-.", "1.2.3", "inf", "nan", "=", "nullify", "größe", "中"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert plain_scalar(text) == text
    assert plain(f"key: {text}") == {"key": text}


@pytest.mark.parametrize("text", ["1e-4", "010", "true", "null", ""])
def test_quoted_text_stays_text(text: str) -> None:
    assert plain(f"key: '{text}'\nother: \"{text}\"") == {"key": text, "other": text}
    assert plain("key: |\n  1\n") == {"key": "1\n"}


def test_keys_are_text_as_written() -> None:
    assert plain("1: a\nno: b\n010: c\n~: d") == {"1": "a", "no": "b", "010": "c", "~": "d"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_document_is_an_empty_mapping(text: str) -> None:
    assert plain(text) == {}


def test_every_value_knows_where_it_stands() -> None:
    root = read_yaml("a: 1\nb:\n  - x\n  - {c: 2}\n", "f.yaml")
    assert root.origin_of(()) == Origin("f.yaml", 1, 1)
    assert root.origin_of(("b",)) == Origin("f.yaml", 2, 1)  # the place of the key
    assert root.origin_of(("b", 0)) == Origin("f.yaml", 3, 5)
    assert root.origin_of(("b", 1, "c")) == Origin("f.yaml", 4, 6)
    assert str(root.origin_of(("b", 1, "c"))) == "f.yaml:4:6"


def test_line_ends_of_windows_change_nothing() -> None:
    root = read_yaml("a: 1\r\nb:\r\n  c: text\r\n", "f.yaml")
    assert root.plain() == {"a": 1, "b": {"c": "text"}}
    assert root.origin_of(("b", "c")) == Origin("f.yaml", 3, 3)


def test_a_key_that_appears_twice_is_an_error_with_both_places() -> None:
    text = "train: {epochs: 1}\nseed: 0\ntrain: {epochs: 2}\n"
    assert message_of(text) == (
        "f.yaml:3:1  train: key appears twice, first at f.yaml:1:1; remove one"
    )
    assert message_of("a: {x: 1, 'x': 2}").startswith("f.yaml:1:11  x: key appears twice")


@pytest.mark.parametrize(
    ("text", "place", "tag"),
    [
        ("a: !!python/object/apply:os.system [ls]", "f.yaml:1:1", "!!python/object/apply"),
        ("a: !!python/name:os.system", "f.yaml:1:1", "!!python/name:os.system"),
        ("a: !new {x: 1}", "f.yaml:1:1", "!new"),
        ("a:\n  - !new [1]", "f.yaml:2:5", "!new"),
        ("a: !!str 5", "f.yaml:1:1", "!!str"),
        ("a: !!float 5", "f.yaml:1:1", "!!float"),
        ("a: !!binary aGk=", "f.yaml:1:1", "!!binary"),
        ("a: !!set {x}", "f.yaml:1:1", "!!set"),
        ("!new a: 1", "f.yaml:1:1", "!new"),
        ("!new\na: 1", "f.yaml:1:1", "!new"),
    ],
)
def test_a_tag_is_refused_wherever_it_stands(text: str, place: str, tag: str) -> None:
    text = message_of(text)
    assert text.startswith(f"{place}  tag {tag}")
    assert "is not allowed: a config is data, never code" in text


def test_an_alias_repeats_its_value_and_merging_keys_is_refused() -> None:
    assert plain("a: &x {lr: 1e-4}\nb: *x") == {"a": {"lr": 0.0001}, "b": {"lr": 0.0001}}
    assert message_of("a: &x {lr: 1}\nb:\n  <<: *x\n") == (
        "f.yaml:3:3  '<<' is not supported; use 'extends' instead"
    )


@pytest.mark.parametrize("text", ["&a [*a]", "a: &x {b: *x}", "a: &x\n  - b: [*x]\n"])
def test_an_alias_that_contains_itself_is_an_error(text: str) -> None:
    assert message_of(text).endswith("an alias points at the value that contains it")


def test_aliases_that_multiply_are_stopped() -> None:
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert f"more than {MAX_VALUES} values" in message_of("\n".join(lines))


def test_nesting_without_end_is_an_error_and_no_crash() -> None:
    assert message_of("[" * 5_000) == "f.yaml  not valid YAML: it is nested too deeply"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {b: 1", "f.yaml:1:9  not valid YAML: "),
        ("a:\n\tb: 1", "f.yaml:2:1  not valid YAML: "),
        ("a: *nowhere", "f.yaml:1:4  not valid YAML: found undefined alias 'nowhere'"),
        ("a: 1\n---\nb: 2", "f.yaml:2:1  not valid YAML: expected a single document"),
        ("a: 'x\nb: 1", "f.yaml:2:5  not valid YAML: "),
        ("a: 1\nb: x\0y", "f.yaml:2:5  not valid YAML: the character U+0000 is not allowed"),
        ("? [a]\n: 1", "f.yaml:1:3  a key must be text"),
        ("a: " + "9" * 5000, "f.yaml:1:1  a number of 5000 digits cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, expected: str) -> None:
    assert message_of(text).startswith(expected)


def test_tabs_are_answered_with_what_to_do() -> None:
    assert message_of("a:\n\tb: 1").endswith("; indent with spaces, not tabs")


def test_a_value_of_the_command_line_is_yaml_whose_origin_is_the_command_line() -> None:
    node = read_value("{name: timm, sizes: [1e-4, no]}", "--set x")
    assert node.plain() == {"name": "timm", "sizes": [0.0001, "no"]}
    assert node.origin_of(("sizes", 1)) == Origin("--set x")
    assert read_value("it's: fine?", "--set x").plain() == {"it's": "fine?"}


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_value_of_the_command_line_is_empty_text(text: str) -> None:
    assert read_value(text, "--set x").plain() == ""


@pytest.mark.parametrize("text", ["~", "null"])
def test_null_can_be_set_from_the_command_line(text: str) -> None:
    assert read_value(text, "--set x").plain() is None


def test_a_value_that_is_a_comment_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"--set x=#1  the value is a YAML comment; write text"):
        read_value("#1", "--set x=#1")
