"""How a parameter of a data set is typed, in a recipe and on the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from reid_core.config.yaml_reader import plain_scalar

#: Text that YAML reads as it is, inside of braces too, and as text.
_PLAIN = re.compile(r"[A-Za-z_./][\w./-]*", re.ASCII)


def how_to_set(parameter: str, value: str | Mapping[str, str | None]) -> str:
    """Say how to type a parameter.

    Args:
        parameter: Its name.
        value: Its value: text, or a mapping of names, in which None is null.

    Returns:
        Both spellings, for ``reid-train`` and for ``reid-data``; each can be pasted.
    """
    if isinstance(value, str):
        # true and 7 are text in quotes alone; a template may stand without them.
        bare = value if _is_text(value) else _text(value)
        return _both(f"{parameter}: {_text(value)}", f"{parameter}={bare}")
    pairs = ", ".join(f"{_text(key)}: {_text(name)}" for key, name in value.items())
    return _both(f"{parameter}: {{{pairs}}}", f"{parameter}={{{pairs}}}")


def _text(value: str | None) -> str:
    if value is None:
        return "null"
    is_plain = _PLAIN.fullmatch(value) and _is_text(value)
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _is_text(value: str) -> bool:
    return isinstance(plain_scalar(value), str)


def _both(recipe: str, option: str) -> str:
    return (
        f"`{recipe}` in the data set's braces of reid-train, `--param {shlex.quote(option)}` for "
        "reid-data"
    )
