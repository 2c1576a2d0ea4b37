"""A recipe file and what it extends, merged."""

from __future__ import annotations

from pathlib import Path

from reid_core.config import nodes
from reid_core.config.nodes import Node
from reid_core.config.recipes import find_recipe
from reid_core.config.shape import expand_names
from reid_core.config.yaml_reader import read_yaml
from reid_core.errors import ConfigError, PluginError


def read_recipe(path: Path, children: tuple[Path, ...] = ()) -> Node:
    """Read a recipe with its parents, the first one lowest.

    Args:
        path: The file.
        children: The files that extend it, outermost first.

    Raises:
        ConfigError: A file cannot be read or is no mapping, a parent does not exist, or recipes
            extend each other in a circle.
        PluginError: A parent is shipped by more than one package, or by a broken one.
    """
    node = _read_mapping(path)
    entries = dict(node.value) if isinstance(node.value, dict) else {}
    extends = entries.pop("extends", None)
    merged: Node | None = None
    for name in _parents(extends):
        parent_path = _find_parent(name, path, (*children, path.resolve()))
        parent = read_recipe(parent_path, (*children, path.resolve()))
        merged = parent if merged is None else nodes.merge(merged, parent)
    own = expand_names(Node(entries, node.origin))
    return own if merged is None else nodes.merge(merged, own)


def _read_mapping(path: Path) -> Node:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}  is no UTF-8 text ({error.reason}); save it as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path}  cannot be read: {error.strerror or error}") from error
    node = read_yaml(text, str(path))
    if node.value is None:
        return Node({}, node.origin)
    if not isinstance(node.value, dict):
        got = "a list" if isinstance(node.value, list) else repr(node.value)
        raise ConfigError(f"{node.origin}  a recipe is a mapping of keys, got {got}")
    return node


def _parents(extends: Node | None) -> list[Node]:
    if extends is None or extends.value is None:
        return []
    items = extends.value if isinstance(extends.value, list) else [extends]
    for item in items:
        if not isinstance(item.value, str):
            raise ConfigError(f"{item.origin}  extends: expected a recipe name or a list of them")
    return items


def _find_parent(name: Node, path: Path, children: tuple[Path, ...]) -> Path:
    try:
        parent = find_recipe(str(name.value), relative_to=path.parent)
    except (ConfigError, PluginError) as error:
        raise type(error)(f"{name.origin}  extends: {error}") from error
    if parent.resolve() in children:
        chain = " -> ".join(child.name for child in (*children, parent))
        raise ConfigError(f"{name.origin}  extends: recipes extend each other in a circle: {chain}")
    return parent
