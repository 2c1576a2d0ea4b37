"""What the schema says is wrong, in the words and places of the person who wrote the config."""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from reid_core.config.components import Component
from reid_core.config.nodes import Node, Path
from reid_core.config.problems import ConfigProblem, dotted
from reid_core.config.shape import keys_at, model_at, suggestions

# Keys whose text names a component.
_NAMES = ("name", "sampler")


def schema_problems(error: ValidationError, root: Node) -> list[ConfigProblem]:
    """Return every problem of a validation error, with its place in the config.

    Args:
        error: What the schema raised.
        root: The config that was checked.
    """
    return [_problem(details, root) for details in error.errors(include_url=False)]


#: Where the names are that could stand in the place of nothing.
_LISTED = "; 'reid-plugins list' shows them all"


def _problem(details: ErrorDetails, root: Node) -> ConfigProblem:
    path: Path = details.get("ctx", {}).get("path", details["loc"])
    return ConfigProblem(dotted(path), _message(details, path, root), root.origin_of(path))


def _message(details: ErrorDetails, path: Path, root: Node) -> str:
    kind = details["type"]
    if kind == "extra_forbidden":
        return f"unknown key{_hint(path)}"
    if kind == "missing":
        return "a value is missing" if isinstance(path[-1], int) else "required key is missing"
    got = f", got {_spelled(_value_at(path, root))}"
    if kind in ("model_type", "model_attributes_type"):
        model = model_at(path)
        if model is not None and issubclass(model, Component):
            text = f"expected a name, or a mapping with a name and parameters{got}"
            return text + (_LISTED if _value_at(path, root) is None else "")
        return f"expected a mapping of keys{got}"
    if kind == "string_type" and path[-1] in _NAMES and _value_at(path, root) is None:
        return f"expected the name of a component{got}{_LISTED}"
    if kind == "list_type":
        # A bare name is a mapping by now, which is not what was written.
        value = _value_at(path, root)
        if isinstance(value, dict) and set(value) == {"name"}:
            value = value["name"]
        example = "put it in brackets, as in [one, {name: two}]"
        return f"expected a list, got {_spelled(value)}; {example}"
    text = details["msg"].removeprefix("Value error, ")
    text = f"{text[:1].lower()}{text[1:]}"
    if kind == "string_type" and not isinstance(_value_at(path, root), dict | list | None):
        return f"{text}{got}; write text in quotes"
    is_about_several = kind == "value_error" and isinstance(_value_at(path, root), dict)
    return text if is_about_several or kind == "duplicate_hook" else f"{text}{got}"


def _hint(path: Path) -> str:
    found = suggestions(path)
    if found:
        return f"; did you mean {' or '.join(found)}?"
    return f" (known: {', '.join(keys_at(path[:-1]))})"


def _value_at(path: Path, root: Node) -> object:
    node: Node | None = root
    for part in path:
        node = node.child(part) if node else None
    return node.plain() if node else None


def _spelled(value: object) -> str:
    """Spell a value as YAML does; a mapping is only called one, since it may be long."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"[{', '.join(_spelled(item) for item in value)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
