"""``best.yaml``: the recipe of the best trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.config.yaml_writer import write_yaml
from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.trial_config import config_with

_Plain = dict[str, object]


def write_best(path: Path, request: SweepRequest, values: Mapping[str, object]) -> None:
    """Write a recipe that extends the sweep's and has the settings of a trial.

    Args:
        path: The file.
        request: The sweep.
        values: The settings of the trial, by dotted path.
    """
    write_text_atomically(path, best_recipe(request, values))


def best_recipe(request: SweepRequest, values: Mapping[str, object]) -> str:
    """Return the text of that recipe.

    A list is written whole where a setting lies inside: a recipe replaces lists.

    Args:
        request: The sweep.
        values: The settings of the trial, by dotted path.
    """
    resolved = config_with(request.config, values, source="the sweep").plain()
    recipe: _Plain = {"extends": request.source}
    for path in _outermost([*request.settings, *values]):
        _put(recipe, path, _at(resolved, path))
    return write_yaml(recipe)


def _outermost(paths: Sequence[str]) -> list[tuple[str, ...]]:
    """Return paths up to the first position of a list, without those inside of others."""
    cut = []
    for path in paths:
        parts = path.split(".")
        count = next((i for i, part in enumerate(parts) if part.isdecimal()), len(parts))
        cut.append(tuple(parts[:count]))
    unique = sorted(set(cut))
    return [
        path
        for path in unique
        if not any(len(o) < len(path) and path[: len(o)] == o for o in unique)
    ]


def _at(plain: object, path: tuple[str, ...]) -> object:
    for part in path:
        plain = cast("_Plain", plain)[part]
    return plain


def _put(recipe: _Plain, path: tuple[str, ...], value: object) -> None:
    for part in path[:-1]:
        recipe = cast("_Plain", recipe.setdefault(part, {}))
    recipe[path[-1]] = value
