"""What can be wrong with the recipes that a package ships; none of its code is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reid_core.config import list_recipes, load_config
from reid_core.config.problems import dotted
from reid_core.config.uses import uses_of
from reid_core.errors import PluginError, ReidError
from reid_core.inspection.finding import Finding
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex


def recipes_of(ref: ComponentRef) -> dict[str, Path]:
    """Return the recipes behind one entry point of kind ``recipes``, by name."""
    return list_recipes(PluginIndex((ref,)))


def recipe_findings(ref: ComponentRef, index: PluginIndex) -> tuple[Finding, ...]:
    """Load every recipe behind an entry point, and look up what it names.

    Args:
        ref: A component of kind ``recipes``.
        index: Everything installed.
    """
    recipes = recipes_of(ref)
    if not recipes:
        return (
            Finding(
                "fault",
                "recipes",
                f"there is no recipe in {ref.value}: expected a package with .yaml files; mend the "
                "entry point, or see that the files are part of what is installed",
            ),
        )
    return tuple(
        finding for name, path in recipes.items() for finding in _findings_of_one(name, path, index)
    )


def _findings_of_one(name: str, path: Path, index: PluginIndex) -> Iterator[Finding]:
    try:
        config = load_config(path)
    except (ReidError, OSError, ValueError) as error:
        yield Finding("fault", "recipes", f"recipe {name} does not load: {error}")
        return
    for use in dict.fromkeys(uses_of(config)):
        try:
            index.find(use.kind, use.name)
        except PluginError as error:
            yield Finding("fault", "recipes", f"recipe {name}: {dotted(use.path)}: {error}")
