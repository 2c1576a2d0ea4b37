"""Names and values as MLflow takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

#: Characters of a name, and of the value of a parameter.
MAX_NAME = 250
MAX_VALUE = 6000


def valid_name(name: str) -> str:
    """Return a name that MLflow takes: of letters, digits and ``_-. :/``, of 250 characters.

    Args:
        name: Any name.
    """
    return re.sub(r"[^\w\-. :/]", "_", name)[:MAX_NAME]


def flat_parameters(plain: Mapping[str, object]) -> dict[str, str]:
    """Return a nested configuration as parameters by dotted path; positions count from 0.

    Args:
        plain: Plain types, nested to any depth.

    Returns:
        Text by path: ``train.optimizer.lr``, ``hooks.0.name``. What is longer than 6000 characters
        is cut and ends in ``…``.
    """
    return {valid_name(path): _cut(str(value)) for path, value in _leaves(plain, "")}


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    children: list[tuple[object, object]]
    if isinstance(value, Mapping):
        children = list(value.items())
    elif isinstance(value, list | tuple):
        children = list(enumerate(value))
    else:
        yield path, value
        return
    if not children and path:
        yield path, "[]" if isinstance(value, list | tuple) else "{}"
    for key, child in children:
        yield from _leaves(child, f"{path}.{key}" if path else str(key))


def _cut(value: str) -> str:
    return value if len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…"
