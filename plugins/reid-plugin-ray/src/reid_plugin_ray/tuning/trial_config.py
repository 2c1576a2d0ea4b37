"""The configuration of one trial, and whether a whole space gives configurations that work."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.errors import ConfigError, PluginError
from reid_plugin_ray.tuning.space import Distribution, Space


def config_with(base: Mapping[str, object], values: Mapping[str, object], *, source: str) -> Config:
    """Return a configuration with some settings of a trial.

    Args:
        base: The resolved configuration of the sweep, as plain types.
        values: Setting by dotted path.
        source: Where the base is from, for messages.
    """
    # JSON is YAML, and its numbers come back bit by bit.
    texts = [f"{path}={json.dumps(value)}" for path, value in values.items()]
    return config_from_plain(base, texts, source=source)


def check_space(base: Config, space: Space) -> None:
    """Check that every setting exists and takes the values it may get.

    Each is tried by itself in the base configuration, before anything is started.

    Args:
        base: The configuration of the sweep.
        space: What is tried.

    Raises:
        ConfigError: A setting does not exist, a value does not fit, or it may not be drawn.
    """
    plain = base.plain()
    problems = [problem for one in space.distributions for problem in _problems(plain, one)]
    if problems:
        raise ConfigError("\n".join(problems))


def _problems(plain: Mapping[str, object], one: Distribution) -> list[str]:
    from reid_core.engine.check import check_config

    if one.path.partition(".")[0] in ("output", "description", "plugins"):
        return [f"{one.origin}  {one.path}: this cannot be drawn; leave it out of the space"]
    for value in one.probes:
        try:
            config = config_with(plain, {one.path: value}, source="the base configuration")
            check_config(config)
        except (ConfigError, PluginError) as error:
            text = f"--set {one.path}={json.dumps(value)}"
            told = str(error).replace(text, str(one.origin))
            first = told.splitlines()[0]
            place = "" if str(one.origin) in first else f"{one.origin}  "
            return [f"{place}{first} (tried with {value!r})"]
        if config.evaluate.every == 0:
            return [f"{one.origin}  {one.path}: a trial without evaluations reports nothing"]
    return []
