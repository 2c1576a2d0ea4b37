"""Questions about the schema: which keys there are, and where components stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel

from reid_core.config.components import Component
from reid_core.config.nodes import Node, Path, put
from reid_core.config.schema import Config
from reid_core.errors import nearest

#: Sections whose keys may be set without naming the section, as in ``--set optimizer.lr=1e-4``.
SECTIONS = ("model", "data", "train", "evaluate")

# A key that is at home in more places than this (``name``) is no hint.
_MAX_HOMES = 3


def model_at(path: Sequence[object]) -> type[BaseModel] | None:
    """Return the model of the value at ``path``, or of the items of the list there, or None."""
    model: type[BaseModel] | None = Config
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(str(part)) if model else None
        model = _model_in(field.annotation) if field else None
    return model


def keys_at(path: Sequence[object]) -> list[str]:
    """Return the keys that the schema knows at ``path``, sorted."""
    model = model_at(path)
    return sorted(model.model_fields) if model else []


def is_list_at(path: Path) -> bool:
    """Say whether the schema wants a list at ``path``."""
    parent = model_at(path[:-1])
    field = parent.model_fields.get(str(path[-1])) if parent else None
    return field is not None and _is_list(field.annotation)


def with_section(path: Path) -> Path:
    """Complete ``optimizer.lr`` to ``train.optimizer.lr`` where exactly one section has the key."""
    if path[0] in Config.model_fields:
        return path
    owners = [section for section in SECTIONS if path[0] in keys_at((section,))]
    return (owners[0], *path) if len(owners) == 1 else path


def expand_names(node: Node, path: Path = ()) -> Node:
    """Write every bare component name out, as ``{name: …}``, so that the two merge alike.

    Args:
        node: The value at ``path``.
        path: Where it stands in the schema.
    """
    model = model_at(path)
    if model is None:
        return node
    if isinstance(node.value, str) and issubclass(model, Component):
        return Node({"name": node}, node.origin)
    if isinstance(node.value, list):
        return Node([expand_names(item, path) for item in node.value], node.origin)
    if isinstance(node.value, dict):
        items = {key: expand_names(child, (*path, key)) for key, child in node.value.items()}
        return Node(items, node.origin)
    return node


def wrap_data_sets(root: Node) -> Node:
    """Write a single data set as a list of one, so that paths and places fit the schema's."""
    for path in (("data", "train"), ("data", "test")):
        section = root.child(path[0])
        single = section.child(path[1]) if section else None
        if single is not None and isinstance(single.value, dict):
            root = put(root, path, Node([single], single.origin))
    return root


def suggestions(path: Path) -> list[str]:
    """Return what an unknown key may have meant: a key beside it, or one of another section.

    Args:
        path: Path of the unknown key.
    """
    key = str(path[-1])
    beside = nearest(key, keys_at(path[:-1]))
    homes = [dotted for name, dotted in _homes(Config, "") if name == key]
    found = [beside] if beside else []
    if len(homes) <= _MAX_HOMES:
        found += homes
    if found:
        return found
    by_name: dict[str, list[str]] = {}
    for name, dotted in _homes(Config, ""):
        by_name.setdefault(name, []).append(dotted)
    near = nearest(key, [name for name, places in by_name.items() if len(places) <= _MAX_HOMES])
    return by_name[near] if near else []


def _homes(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every key of the schema outside lists, and its dotted path."""
    for name, field in model.model_fields.items():
        yield name, f"{prefix}{name}"
        inner = _model_in(field.annotation)
        if inner and not _is_list(field.annotation):
            yield from _homes(inner, f"{prefix}{name}.")


def _is_list(annotation: object) -> bool:
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return any(_is_list(argument) for argument in get_args(annotation))
    return get_origin(annotation) is list


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, Annotated, list):
        for argument in get_args(annotation):
            found = _model_in(argument)
            if found:
                return found
    return None
