"""Recipes by name or path: files on disk, or YAML files that installed packages ship."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from reid_core.errors import ConfigError, PluginError, did_you_mean
from reid_core.plugins.editable import install_again, source_folder
from reid_core.plugins.index import ComponentRef, PluginIndex, installed, warn_if_deprecated
from reid_core.plugins.known import provider_of
from reid_core.plugins.refusals import how_to_get

SUFFIXES = (".yaml", ".yml")


def find_recipe(name: str, *, relative_to: Path | None = None) -> Path:
    """Find the file that a recipe name stands for.

    Args:
        name: A path to a YAML file, or ``package/recipe`` for one that a package ships; where two
            distributions ship the same name, ``distribution/package/recipe``.
        relative_to: Folder that a relative path starts from; the working directory by default.

    Raises:
        ConfigError: Nothing has that name; the message lists what there is.
        PluginError: Two distributions ship it, or the one that does is broken.
    """
    path = Path(name).expanduser()
    candidate = path if relative_to is None else relative_to / path
    if path.suffix in SUFFIXES:
        if candidate.is_file():
            return candidate
        raise ConfigError(_no_such_file(name, candidate))
    index = installed()
    for package, rest in _splits(name):
        if any(package in (ref.name, ref.qualified) for ref in index.by_kind("recipes")):
            ref = index.find("recipes", package)
            warn_if_deprecated(ref)
            folder = _folder(ref)
            for suffix in SUFFIXES:
                if (folder / f"{rest}{suffix}").is_file():
                    return folder / f"{rest}{suffix}"
    raise ConfigError(_unknown(name, candidate, index))


def list_recipes(index: PluginIndex | None = None) -> dict[str, Path]:
    """Return the recipes that installed packages ship, by name; imports none of them.

    A broken distribution is left out, and so is a second name. Where two ship the same name, both
    are listed by the spelling that names the distribution too.
    """
    found: dict[str, Path] = {}
    for ref in (index or installed()).by_kind("recipes"):
        if not ref.claims_name or ref.needs or ref.alias_of:
            continue
        prefix = ref.qualified if ref.status == "conflict" else ref.name
        try:
            folder = _folder(ref)
        except PluginError:
            continue
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                relative = path.relative_to(folder).with_suffix("").as_posix()
                found.setdefault(f"{prefix}/{relative}", path)
    return found


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield ``a``, ``b/c`` and ``a/b``, ``c`` for ``a/b/c``."""
    parts = name.split("/")
    for count in (1, 2):
        if len(parts) > count:
            yield "/".join(parts[:count]), "/".join(parts[count:])


def _folder(ref: ComponentRef) -> Path:
    # Only the top-level package is located: finding a submodule would import its parents.
    top, *rest = ref.value.partition(":")[0].split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location).joinpath(*rest)
        if folder.is_dir():
            return folder
    again = (
        install_again(source_folder(ref.dist))
        if ref.editable
        else f"pip install --force-reinstall {ref.dist}"
    )
    raise PluginError(
        f"recipes {ref.name!r} of {ref.dist} {ref.version} lie in {ref.value}, which is not "
        f"installed as a package; reinstall it: {again}"
    )


def _no_such_file(name: str, candidate: Path) -> str:
    folder = candidate.parent
    if not folder.is_dir():
        return f"recipe {name} not found: there is no folder {folder}"
    siblings = [p.name for p in folder.iterdir() if p.suffix in SUFFIXES]
    near = did_you_mean(candidate.name, siblings)
    known = f" ({folder} holds {', '.join(sorted(siblings))})" if siblings else ""
    return f"recipe {name} not found in {folder.resolve()}{near}{known}"


def _unknown(name: str, candidate: Path, index: PluginIndex) -> str:
    for suffix in SUFFIXES:
        if Path(f"{candidate}{suffix}").is_file():
            return f"unknown recipe {name!r}; did you mean the file {name}{suffix}?"
    installed_names = {ref.name for ref in index.by_kind("recipes") if ref.claims_name}
    for package, _ in _splits(name):
        provider = provider_of("recipes", package)
        if provider is not None and package.rpartition("/")[2] not in installed_names:
            return f"unknown recipe {name!r}; {how_to_get(provider)}"
    names = list(list_recipes(index))
    known = f"installed recipes: {', '.join(names)}" if names else "no package ships recipes"
    return (
        f"unknown recipe {name!r}{did_you_mean(name, names)} ({known}); a file is named by its "
        "path and ends in .yaml"
    )
