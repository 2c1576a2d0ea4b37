"""The part of a configuration that evaluation needs: what only training needs may be missing."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from reid_core.config import Config
from reid_core.config.components import BatchConfig
from reid_core.config.training import TrainConfig
from reid_core.config.uses import uses_of
from reid_core.errors import PluginError
from reid_core.plugins.index import disabled_plugins
from reid_core.plugins.registries import registry_of


def evaluation_config(config: Config) -> Config:
    """Return the configuration without losses, hooks, transforms, sampler, optimizer and schedule.

    So weights can be evaluated where the packages of their training are not installed. Training
    sets that are not tested are left out too, and requirements on packages that nothing comes from.

    Args:
        config: The configuration of the weights.
    """
    tests = config.data.test_sets
    data = config.data.model_copy(
        update={
            "train": [one for one in config.data.train if one in tests],
            "test": tests,
            "batch": BatchConfig(),
            "transforms": [],
        }
    )
    kept = config.model_copy(
        update={
            "model": config.model.model_copy(update={"losses": []}),
            "data": data,
            "train": config.train.model_copy(
                update={
                    "optimizer": TrainConfig().optimizer,
                    "schedule": TrainConfig().schedule,
                }
            ),
            "hooks": [],
            "default_hooks": [],
        }
    )
    return _with_needed_requirements(kept)


def _with_needed_requirements(config: Config) -> Config:
    dists = set()
    with disabled_plugins(config.plugins.disable):
        for use in uses_of(config):
            try:
                dists.add(canonicalize_name(registry_of(use.kind).resolve(use.name).dist))
            except PluginError:
                # Said in full by the check of the configuration; its requirements say how to
                # mend it.
                return config
    needed = [text for text in config.plugins.require if _name(text) in dists]
    plugins = config.plugins.model_copy(update={"require": needed})
    return config.model_copy(update={"plugins": plugins})


def _name(requirement: str) -> str | None:
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return None
