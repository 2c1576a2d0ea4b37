"""From a recipe name and overrides to a validated configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from reid_core.config.nodes import Node, Origin
from reid_core.config.overrides import Overrides, apply_overrides, node_of
from reid_core.config.parents import read_recipe
from reid_core.config.problems import raise_problems
from reid_core.config.recipes import find_recipe
from reid_core.config.schema import Config
from reid_core.config.schema_errors import schema_problems
from reid_core.config.shape import wrap_data_sets
from reid_core.config.yaml_writer import write_yaml


def load_config(source: str | Path, overrides: Overrides = ()) -> Config:
    """Read a recipe, what it extends, and the overrides, and check the whole.

    Args:
        source: A path to a YAML file, or a name such as ``osnet/osnet_x0_25``.
        overrides: ``"train.epochs=3"`` texts as on the command line (values are YAML), or a
            mapping from dotted path to value.

    Returns:
        The resolved configuration.

    Raises:
        ConfigError: Anything is wrong; every problem is listed with its file, line and column.
        UsageError: An override has no ``=``.
        PluginError: The recipe is shipped by more than one package, or by a broken one.
    """
    path = find_recipe(str(source))
    config = validate(apply_overrides(read_recipe(path), overrides))
    config._name = path.stem
    return config


def config_from_plain(
    plain: Mapping[str, object], overrides: Sequence[str] = (), *, source: str
) -> Config:
    """Read a configuration back that was stored as plain types, in a checkpoint say.

    Args:
        plain: What :meth:`Config.plain` returned.
        overrides: As for :func:`load_config`.
        source: Where it was stored, for messages.

    Raises:
        ConfigError: It does not fit the schema, or an override is wrong.
        UsageError: An override has no ``=``.
    """
    return validate(apply_overrides(node_of(plain, Origin(source)), overrides))


def validate(root: Node) -> Config:
    """Check nodes against the schema.

    Raises:
        ConfigError: Every problem, with its place.
    """
    root = wrap_data_sets(root)
    try:
        config = Config.model_validate(root.plain())
    except ValidationError as error:
        raise_problems(schema_problems(error, root))
        raise  # not reached: a ValidationError holds at least one problem
    config._root = root
    return config


def dump_config(config: Config) -> str:
    """Return the resolved configuration as YAML text that :func:`load_config` reads back."""
    return write_yaml(config.plain())
