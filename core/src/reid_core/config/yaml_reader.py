"""YAML text to nodes: YAML 1.2 scalars, no duplicate keys, no code, a position for everything."""

from __future__ import annotations

import re

import yaml
from yaml.reader import ReaderError

from reid_core.config.nodes import Node, Origin, Scalar
from reid_core.errors import ConfigError

_INT = re.compile(r"[-+]?[0-9]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z|0o[0-7]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULLS = {"", "~", "null", "Null", "NULL"}

#: More values than this are a document whose aliases multiply, not a config.
MAX_VALUES = 20_000


#: The tag of everything that nobody wrote a tag for.
_UNTAGGED = "untagged"


class _Loader(yaml.SafeLoader):
    # Asked only where no tag is written; PyYAML's own answer is a guess by the rules of YAML 1.1.
    def resolve(self, kind: type[yaml.Node], value: object, implicit: object) -> str:
        return _UNTAGGED


def read_yaml(text: str, source: str) -> Node:
    """Parse a YAML document.

    Scalars follow YAML 1.2, not PyYAML's 1.1: ``1e-4`` is a number and ``no`` is text.

    Args:
        text: The document; empty means an empty mapping.
        source: Name shown in messages, usually the file's path.

    Returns:
        The document as nodes.

    Raises:
        ConfigError: The text is no YAML, a key appears twice, or there is a tag, which could ask
            for an object.
    """
    root = _read(text, source)
    return Node({}, Origin(source, 1, 1)) if root is None else root


def read_value(text: str, source: str) -> Node:
    """Parse a value from the command line as YAML; every part of it gets the origin ``source``.

    Raises:
        ConfigError: As for :func:`read_yaml`, or the text is nothing but a comment.
    """
    if not text.strip():
        return Node("", Origin(source))
    root = _read(text, source)
    if root is None:
        raise ConfigError(
            f"{source}  the value is a YAML comment; write text that starts with # in quotes"
        )
    return _relocate(root, Origin(source))


def plain_scalar(text: str) -> Scalar:
    """Resolve an unquoted scalar by the YAML 1.2 core schema."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.match(text):
        return int(text)
    if _HEX.match(text):
        return int(text, 0)
    if _FLOAT.match(text):
        return float(text)
    special = _SPECIAL.match(text)
    if special:
        return float("nan") if special.group(3) else float(f"{special.group(1)}inf")
    return text


def _read(text: str, source: str) -> Node | None:
    try:
        root = yaml.compose(text, Loader=_Loader)
        return None if root is None else _Reader(source).convert(root, _origin(root, source))
    except ReaderError as error:
        before = text[: error.position]
        place = f"{source}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise ConfigError(
            f"{place}  not valid YAML: the character U+{int(error.character):04X} is not allowed"
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise ConfigError(f"{place}  not valid YAML: {_reason(error)}") from error
    except RecursionError as error:
        raise ConfigError(f"{source}  not valid YAML: it is nested too deeply") from error


def _reason(error: yaml.MarkedYAMLError) -> str:
    reason = ": ".join(part for part in (error.context, error.problem) if part)
    return f"{reason}; indent with spaces, not tabs" if r"'\t'" in reason else reason


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.open: set[int] = set()
        self.count = 0

    def convert(self, node: yaml.Node, origin: Origin) -> Node:
        self._check(node, origin)
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return Node(self._mapping(node), origin)
            if isinstance(node, yaml.SequenceNode):
                items = [self.convert(item, _origin(item, self.source)) for item in node.value]
                return Node(items, origin)
            return Node(self._scalar(node, origin), origin)
        finally:
            self.open.discard(id(node))

    def _check(self, node: yaml.Node, origin: Origin) -> None:
        if id(node) in self.open:
            raise ConfigError(f"{origin}  an alias points at the value that contains it")
        if node.tag != _UNTAGGED:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise ConfigError(
                f"{origin}  tag {tag} is not allowed: a config is data, never code; "
                "write text in quotes, anything else without a tag"
            )
        self.count += 1
        if self.count > MAX_VALUES:
            raise ConfigError(
                f"{origin}  more than {MAX_VALUES} values; aliases of aliases multiply"
            )

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for key_node, value_node in node.value:
            origin = _origin(key_node, self.source)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{origin}  a key must be text")
            self._check(key_node, origin)
            key = key_node.value
            if key == "<<":
                raise ConfigError(f"{origin}  '<<' is not supported; use 'extends' instead")
            if key in entries:
                raise ConfigError(
                    f"{origin}  {key}: key appears twice, first at {entries[key].origin}; "
                    "remove one"
                )
            entries[key] = self.convert(value_node, origin)
        return entries

    def _scalar(self, node: yaml.Node, origin: Origin) -> Scalar:
        text = str(node.value)
        is_plain = isinstance(node, yaml.ScalarNode) and node.style is None
        try:
            return plain_scalar(text) if is_plain else text
        except ValueError as error:  # Python reads no integer of more than 4300 digits
            raise ConfigError(f"{origin}  a number of {len(text)} digits cannot be read") from error


def _origin(node: yaml.Node, source: str) -> Origin:
    return Origin(source, node.start_mark.line + 1, node.start_mark.column + 1)


def _relocate(node: Node, origin: Origin) -> Node:
    if isinstance(node.value, dict):
        return Node({k: _relocate(v, origin) for k, v in node.value.items()}, origin)
    if isinstance(node.value, list):
        return Node([_relocate(v, origin) for v in node.value], origin)
    return Node(node.value, origin)
