"""The message for a SOURCE that is neither a path nor a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reid_core.config.recipes import SUFFIXES, list_recipes
from reid_core.errors import nearest


def describe_missing(source: str, path: Path) -> str:
    """Say what is not there, what is there instead, and which recipe was meant perhaps.

    Args:
        source: What was typed.
        path: The path that it stands for.
    """
    # Imported here: reading its message is the only use of data in a command that fails.
    from reid_core.data.detect import describe_missing_path

    return f"{describe_missing_path(path)}; nor is there a recipe of that name{_recipe(source)}"


def _recipe(source: str) -> str:
    from reid_core.plugins.known import provider_of
    from reid_core.plugins.refusals import how_to_get

    for suffix in SUFFIXES:
        if Path(f"{source}{suffix}").expanduser().is_file():
            return f"; did you mean the file {source}{suffix}?"
    names = list(list_recipes())
    near = nearest(source, names)
    if near:
        return f"; did you mean {near}?"
    installed = {package for name in names for package in _packages(name)}
    for package in _packages(source):
        provider = provider_of("recipes", package)
        if provider is not None and package not in installed:
            return f"; {how_to_get(provider)}"
    return ""


def _packages(name: str) -> Iterator[str]:
    """Yield what may be the package in a recipe's name: ``a`` and ``a/b`` of ``a/b/c``."""
    parts = name.split("/")
    yield from ("/".join(parts[:count]) for count in (1, 2) if len(parts) > count)
