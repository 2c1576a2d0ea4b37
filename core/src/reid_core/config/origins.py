"""The resolved configuration as text, each value with the place it was written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from reid_core.config.load import dump_config
from reid_core.config.nodes import Node, Path
from reid_core.config.schema import Config

#: What a value that nobody wrote comes from.
DEFAULT = "default"
#: Comments begin in this column, or behind a longer line.
_COLUMN = 44


def dump_with_origins(config: Config, others: Mapping[Path, str] | None = None) -> str:
    """Return the resolved configuration as YAML text, each value with a comment: where it is from.

    That is a file with line and column, ``--set …``, or ``default``.

    Args:
        config: The configuration.
        others: Origins of values that were set after it was read, by path.

    Returns:
        Text that is read back as the same configuration.
    """
    text = dump_config(config)
    comments = {
        line: (others or {}).get(path) or origin_of(config, path)
        for path, line in _leaves(yaml.compose(text, Loader=yaml.SafeLoader), ())
    }
    lines = [
        f"{line.ljust(_COLUMN)}  # {comments[number]}" if number in comments else line
        for number, line in enumerate(text.splitlines())
    ]
    return "\n".join(lines) + "\n"


def origin_of(config: Config, path: Path) -> str:
    """Say where the value at ``path`` was written: file, line and column, or ``default``."""
    node: Node | None = config._root
    for part in path:
        node = None if node is None else node.child(part)
    # A line break of a command line would end the comment.
    return DEFAULT if node is None else " ".join(str(node.origin).split())


def _leaves(node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, int]]:
    """Yield the path of each value and the line that it ends in, from 0."""
    if isinstance(node, yaml.MappingNode) and node.value:
        for key, child in node.value:
            yield from _leaves(child, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode) and node.value:
        for position, child in enumerate(node.value):
            yield from _leaves(child, (*path, position))
    elif node is not None:
        yield path, node.end_mark.line
