"""Overrides: settings from the command line or a program, laid over a recipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reid_core.config import nodes
from reid_core.config.nodes import Node, Origin, Path
from reid_core.config.schema import Config
from reid_core.config.shape import expand_names, is_list_at, with_section
from reid_core.config.yaml_reader import read_value
from reid_core.errors import ConfigError, UsageError

#: ``"train.epochs=3"`` texts as on the command line, or a mapping from dotted path to value.
Overrides = Sequence[str] | Mapping[str, object]


def apply_overrides(root: Node, overrides: Overrides) -> Node:
    """Return ``root`` with every override set, in their order.

    Raises:
        UsageError: A text has no ``=``.
        ConfigError: A value is no YAML, or a path leads through a scalar or to a position that a
            list does not have.
    """
    for key, leaf in _assignments(overrides):
        path = with_section(tuple(int(p) if p.isdecimal() else p for p in key.split(".")))
        try:
            root = nodes.put(_with_list(root, path), path, expand_names(leaf, path))
        except LookupError as error:
            raise ConfigError(f"{leaf.origin}  {key}: {error.args[0]}") from error
    return root


def node_of(value: object, origin: Origin) -> Node:
    """Return plain types as nodes that all have the same origin."""
    if isinstance(value, Mapping):
        return Node({str(k): node_of(v, origin) for k, v in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Node([node_of(v, origin) for v in value], origin)
    if value is None or isinstance(value, str | int | float | bool):
        return Node(value, origin)
    return Node(str(value), origin)


def _assignments(overrides: Overrides) -> Iterable[tuple[str, Node]]:
    if isinstance(overrides, Mapping):
        for key, value in overrides.items():
            yield key, node_of(value, Origin(f"override {key}"))
        return
    for text in [overrides] if isinstance(overrides, str) else overrides:
        key, separator, value = text.partition("=")
        if not separator or not all(part.strip() for part in key.split(".")):
            raise UsageError(
                f"--set {text!r}: expected key=value, for example --set train.epochs=3"
            )
        yield key.strip(), read_value(value, f"--set {text}")


def _with_list(root: Node, path: Path) -> Node:
    """Write out the list that ``path`` goes into by position, where the recipe does not have it.

    That is a list of the default configuration, or the list around a single data set.
    """
    position = next((i for i, part in enumerate(path) if isinstance(part, int)), 0)
    prefix = path[:position]
    if not prefix or not is_list_at(prefix):
        return root
    written: Node | None = root
    default: object = Config().plain()
    for part in prefix:
        written = written.child(part) if written else None
        default = default.get(str(part)) if isinstance(default, dict) else None
    if written is None and default is not None:
        return nodes.put(root, prefix, node_of(default, Origin("default configuration")))
    if written is not None and isinstance(written.value, dict):
        return nodes.put(root, prefix, Node([written], written.origin))
    return root
