"""The reference has every key of the configuration, with type and default; errors look as shown."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

import annotated_types
import pytest
import yaml
from click.testing import CliRunner
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from reid_core import errors
from reid_core.cli import config as config_command
from reid_core.cli import train as train_command
from reid_core.config.components import Component
from reid_core.config.schema import Config

PLAIN = {str: "text", int: "integer", float: "number", bool: "true or false"}


def without_null(annotation):
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [one for one in get_args(annotation) if one is not type(None)]
        return kept[0], len(kept) < len(get_args(annotation))
    return annotation, False


def unwrapped(annotation):
    """Return the type inside ``Annotated``, and the bounds beside it."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        bounds = [m for one in metadata for m in getattr(one, "metadata", [one])]
        return inner, bounds
    return annotation, []


def type_text(annotation):
    annotation, _ = unwrapped(annotation)
    origin = get_origin(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin is Literal:
        return " or ".join(str(choice) for choice in get_args(annotation))
    if origin is tuple:
        return f"[{', '.join(type_text(part) for part in get_args(annotation))}]"
    if origin is list:
        item = get_args(annotation)[0]
        is_component = isinstance(item, type) and issubclass(item, Component)
        return "list of components" if is_component else f"list of {type_text(item)}"
    assert isinstance(annotation, type)
    return "component" if annotation is Component else "section"


def bounds_text(bounds):
    words = {
        annotated_types.Ge: ("at least", "ge"),
        annotated_types.Gt: ("above", "gt"),
        annotated_types.Le: ("at most", "le"),
        annotated_types.MinLen: ("at least", "min_length"),
    }
    return "".join(
        f", {words[type(bound)][0]} {getattr(bound, words[type(bound)][1])}"
        for bound in bounds
        if type(bound) in words
    )


def row(field: FieldInfo):
    """Return the cells for type and default."""
    annotation, nullable = without_null(field.annotation)
    annotation, inner_bounds = unwrapped(annotation)
    bounds = bounds_text([*field.metadata, *inner_bounds]) if annotation is not str else ""
    null = (", or null" if bounds else " or null") if nullable else ""
    return f"{type_text(annotation)}{bounds}{null}", default_text(field)


def default_text(field: FieldInfo):
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "required"
    return f"`{yaml_text(plain(default))}`"


def plain(value):
    if isinstance(value, BaseModel):
        kept = value.model_dump(exclude_defaults=True)
        return value.name if set(kept) == {"name"} and type(value) is not Component else kept
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def yaml_text(value):
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return repr(value)
    text = yaml.safe_dump(value, default_flow_style=True, width=1000).strip()
    return text.removesuffix("\n...").strip()


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every key of the schema; a section has a row of its own where it can be null."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        annotation, nullable = without_null(field.annotation)
        annotation, _ = unwrapped(annotation)
        item = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        is_model = isinstance(item, type) and issubclass(item, BaseModel) and item is not Component
        if not is_model:
            yield path, field
            continue
        if item is not annotation:
            yield path, field
            yield from keys(item, f"{path}[].")
        else:
            if nullable:
                yield path, field
            yield from keys(item, f"{path}.")


def test_the_reference_has_every_key_with_its_type_and_default(page):
    documented = {
        cells[0].strip("`"): (cells[1], cells[2])
        for _, rows in page("docs/configuration.md").tables()
        for cells in rows
        if len(cells) == 4
    }
    expected = {path: row(field) for path, field in keys(Config)}
    assert documented == expected


def test_exit_codes_are_those_of_the_errors(page):
    table = {
        int(code): meaning
        for heading, rows in page("docs/configuration.md").tables()
        if heading == "Exit codes"
        for code, meaning in rows
    }
    assert set(table) == {0, 1, 2, 3, 4, 5, 130, 143}
    codes = {
        error: getattr(errors, error).exit_code for error in errors.__dict__ if "Error" in error
    }
    assert codes["ConfigError"] == codes["UsageError"] == 2
    assert codes["DataError"] == 3
    assert "data set" in table[3]
    assert codes["PluginError"] == 4
    assert "plugin" in table[4]
    assert codes["CheckpointError"] == codes["TrainingError"] == 1


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (config_command.main, ["check", "typo.yaml"]),
        (train_command.main, ["--config", "typo.yaml"]),
    ],
)
def test_errors_look_as_shown(command, arguments, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = page("docs/configuration.md").section("Errors").blocks()
    recipe, shown = blocks[0], blocks[1]
    Path(recipe.file).write_text(recipe.text, encoding="utf-8")
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert result.stderr.strip() == shown.text.strip()


def test_the_default_hooks_of_the_training_page_are_the_default_ones(page):
    ((_, rows),) = page("docs/training.md").section("The loop").tables()
    assert [cells[0].strip("`") for cells in rows] == [hook.name for hook in Config().default_hooks]


@pytest.mark.parametrize("name", ["configuration", "training", "data", "evaluation", "concepts"])
def test_settings_named_in_running_text_exist(name, page):
    known = {path.replace("[]", "") for path, _ in keys(Config)}
    sections = {path.rpartition(".")[0] for path in known}
    named = re.findall(
        r"`((?:data|train|evaluate)\.[a-z_.]+)(?:: \w+)?`", page(f"docs/{name}.md").prose
    )
    files = {"train.log", "data.mdb"}
    assert set(named) <= known | sections | files
