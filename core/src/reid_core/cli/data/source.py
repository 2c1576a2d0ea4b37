"""What every ``reid-data`` command reads: the data sets of a recipe, or one path."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import load_plugin_files, plugin_file_option, set_option
from reid_core.cli.data.params import read_params
from reid_core.config import Config, load_config
from reid_core.config.components import Component
from reid_core.config.recipes import SUFFIXES, find_recipe
from reid_core.errors import ConfigError, DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from reid_core.data.manifest import Manifest


@dataclass(frozen=True)
class SourceArguments:
    """SOURCE and its options, as they were typed.

    Args:
        source: A recipe's name, a YAML file, or the path of a data set; None with ``dataset``.
        dataset: Component that reads the path; None finds it out.
        params: Its parameters, ``KEY=VALUE``.
        overrides: Settings of the recipe, ``KEY=VALUE``.
        plugin_files: Python files to run first.
    """

    source: str | None
    dataset: str | None = None
    params: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    plugin_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenedSource:
    """The data sets that SOURCE names; none of them is read yet.

    Args:
        config: The recipe; None where SOURCE is a path.
        train: Sets to train on.
        test: Sets to evaluate; those of a path are both.
    """

    config: Config | None
    train: tuple[Component, ...]
    test: tuple[Component, ...]


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add SOURCE and its options to a command, which gets them as ``source: SourceArguments``."""

    @wraps(command)
    def run(
        source: str | None,
        dataset: str | None,
        params: tuple[str, ...],
        overrides: tuple[str, ...],
        plugin_files: tuple[str, ...],
        **others: object,
    ) -> None:
        arguments = SourceArguments(source, dataset, params, overrides, plugin_files)
        command(source=arguments, **others)

    decorated: Callable[..., None] = run
    for option in reversed(
        (
            click.argument("source", metavar="SOURCE", required=False),
            click.option(
                "--dataset",
                metavar="NAME",
                help="Data set component that reads SOURCE; without it the path tells.",
            ),
            click.option(
                "--param",
                "params",
                metavar="KEY=VALUE",
                multiple=True,
                help="Parameter of the data set component; the value is YAML. Repeatable.",
            ),
            set_option,
            plugin_file_option,
        )
    ):
        decorated = option(decorated)
    return decorated


def open_source(arguments: SourceArguments) -> OpenedSource:
    """Find out which data sets SOURCE means; imports local code, reads no data.

    An existing path, or one below ``REID_DATASETS``, is a data set; a name that ends in .yaml is a
    recipe, and so is the name of one that a package ships.

    Raises:
        UsageError: Options do not go together.
        ConfigError: The recipe is wrong, or a parameter is.
        DataError: It is neither a path nor a recipe, or it is not plain how the path is read.
    """
    from reid_core.paths import resolve_root

    load_plugin_files(arguments.plugin_files)
    source = arguments.source
    if arguments.dataset is not None:
        return _of_path(_named(arguments.dataset, source), arguments)
    if source is None:
        raise UsageError(
            "SOURCE is missing; name a recipe, a YAML file or the path of a data set, or a data "
            "set component by --dataset NAME"
        )
    is_recipe = source.endswith(SUFFIXES)
    path = resolve_root(source)
    if not is_recipe and path.exists():
        from reid_core.data.detect import detect

        name, parameters = detect(path)
        return _of_path(Component.model_validate({"name": name, **parameters}), arguments)
    if not is_recipe:
        _require_recipe(source, path)
    return _of_recipe(source, arguments)


def read_source(arguments: SourceArguments) -> list[Manifest]:
    """Read every data set that SOURCE names, each once, whole.

    Of a recipe these are the training sets, then those test sets that are others. Names differ, so
    that identities stay apart.

    Raises:
        ReidError: As :func:`open_source`, or a set is not there or cannot be read.
    """
    return read_components(open_source(arguments))


def read_components(opened: OpenedSource) -> list[Manifest]:
    """Read the data sets of an opened source, in the order of :func:`read_source`."""
    from reid_core.data.sources import read_sets
    from reid_core.logs import logging_to
    from reid_core.plugins.index import disabled_plugins

    components = list(opened.train)
    components += [one for one in opened.test if one not in components]
    disabled = opened.config.plugins.disable if opened.config else []
    with logging_to(), disabled_plugins(disabled):
        return read_sets(components)


def _named(name: str, source: str | None) -> Component:
    """Return a component that was named; SOURCE is its file or folder."""
    if source is None:
        return Component(name=name)
    from reid_core.plugins.registries import DATASETS

    taken = inspect.signature(DATASETS.get(name)).parameters
    place = next((one for one in ("file", "root") if one in taken), None)
    if place is None:
        raise UsageError(
            f"--dataset {name} has neither a parameter root nor file that {source} could be; leave "
            f"it out, and give its parameters by --param ({', '.join(taken) or 'it has none'})"
        )
    return Component.model_validate({"name": name, place: source})


def _of_path(component: Component, arguments: SourceArguments) -> OpenedSource:
    if arguments.overrides:
        raise UsageError(
            f"--set {arguments.overrides[0]} belongs to a recipe, and the source is a data set; "
            f"its parameters are given by --param {arguments.overrides[0].rpartition('.')[2]}"
        )
    whole = {**component.as_call(), **read_params(arguments.params)}
    components = (Component.model_validate(whole),)
    return OpenedSource(None, components, components)


def _require_recipe(source: str, path: Path) -> None:
    """Refuse what is neither a path nor a recipe; most of it is a path with a slip in it."""
    try:
        find_recipe(source)
    except ConfigError as error:
        from reid_core.cli.data.missing_source import describe_missing

        raise DataError(describe_missing(source, path)) from error


def _of_recipe(source: str, arguments: SourceArguments) -> OpenedSource:
    if arguments.params:
        raise UsageError(
            f"--param {arguments.params[0]} belongs to a data set, and {source} is taken for a "
            "recipe (there is no such path); a recipe's settings are given by --set, for example "
            "--set data.train.0.root=…"
        )
    config = load_config(source, arguments.overrides)
    return OpenedSource(config, tuple(config.data.train), tuple(config.data.test_sets))
