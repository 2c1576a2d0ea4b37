"""YAML values that remember where they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: A scalar as the schema will see it.
Scalar = str | int | float | bool | None
#: A path into a configuration: keys and list positions.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Origin:
    """Where a value was written.

    Args:
        source: File name, or the command-line text that set it.
        line: Line in the file, from 1; None for the command line.
        column: Column in the file, from 1.
    """

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Node:
    """A value and its origin; containers hold nodes.

    Args:
        value: A scalar, a list of nodes, or a mapping from key to node.
        origin: Where it was written; for an entry of a mapping, where its key was.
    """

    value: Scalar | list[Node] | dict[str, Node]
    origin: Origin

    def plain(self) -> object:
        """Return the value without origins: scalars, lists and dictionaries."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def origin_of(self, path: Sequence[str | int]) -> Origin:
        """Return the origin of the deepest part of ``path`` that exists."""
        node = self
        for part in path:
            child = node.child(part)
            if child is None:
                break
            node = child
        return node.origin

    def child(self, part: str | int) -> Node | None:
        """Return the entry of a mapping or list, or None."""
        if isinstance(self.value, dict):
            return self.value.get(str(part))
        if isinstance(self.value, list) and isinstance(part, int) and -1 < part < len(self.value):
            return self.value[part]
        return None


def merge(base: Node, over: Node) -> Node:
    """Lay ``over`` on ``base``: mappings merge key by key, everything else is replaced.

    A mapping that names another component (another ``name`` or ``sampler``) replaces the old one
    whole: the parameters of one component mean nothing to the next.
    """
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over
    if _names_another_component(base.value, over.value):
        return over
    merged = dict(base.value)
    for key, node in over.value.items():
        merged[key] = merge(merged[key], node) if key in merged else node
    return Node(merged, over.origin)


def _names_another_component(base: dict[str, Node], over: dict[str, Node]) -> bool:
    return any(
        key in base and key in over and base[key].value != over[key].value
        for key in ("name", "sampler")
    )


def put(root: Node, path: Path, leaf: Node) -> Node:
    """Return ``root`` with the value at ``path`` set; missing mappings are made.

    Args:
        root: The node to change; it stays as it was.
        path: Keys, and positions of lists.
        leaf: The new value. A mapping is laid over the old one as in :func:`merge`.

    Raises:
        LookupError: The path goes through a list position that is not there, through a scalar, or
            by position into what is no list; the message says which.
    """
    if not path:
        return merge(root, leaf)
    part, rest = path[0], path[1:]
    if isinstance(root.value, list):
        if not isinstance(part, int) or not 0 <= part < len(root.value):
            there = f"it has 0 to {len(root.value) - 1}" if root.value else "it is empty"
            raise LookupError(f"{part!r} is no position of the list: {there}")
        items = list(root.value)
        items[part] = put(items[part], rest, leaf)
        return Node(items, root.origin)
    if root.value is not None and not isinstance(root.value, dict):
        raise LookupError(f"{part!r} cannot be set inside the value {root.value!r}")
    entries = dict(root.value or {})
    if isinstance(part, int) and str(part) not in entries:
        there = f"a mapping of {', '.join(entries)}" if entries else "nothing"
        raise LookupError(f"there is {there}, no list that has a position {part}")
    child = entries.get(str(part), Node(None, leaf.origin))
    # Below a missing key a mapping is made, whatever stood there as null.
    entries[str(part)] = put(child, rest, leaf) if rest else merge(child, leaf)
    return Node(entries, root.origin)
