"""The section ``plugins`` and the switches of the environment against what is installed."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from reid_core.config.problems import ConfigProblem, dotted, raise_problems
from reid_core.config.schema import Config
from reid_core.errors import ConfigError, PluginError, UsageError
from reid_core.plugins.index import installed
from reid_core.plugins.known import KNOWN
from reid_core.plugins.metadata import CORE, PLUGIN_PREFIX, installed_version
from reid_core.plugins.switches import (
    ALL,
    active_switches,
    disabled_plugins,
    switches_of_environment,
)

log = logging.getLogger("reid_core")

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")

# A false hit would refuse a good configuration on a machine that lacks one of the plugins.
_NEAR = 0.75


def check_plugin_settings(config: Config) -> None:
    """Check what a run requires and what it leaves out.

    Raises:
        ConfigError: An entry is no requirement or no distribution, or one is required and disabled.
        UsageError: An environment variable names what cannot be meant.
        PluginError: A requirement is not met, or a switch leaves the distribution out.
    """
    requirements = [_requirement(text) for text in config.plugins.require]
    raise_problems(
        list(_disable_problems(config, {canonicalize_name(r.name) for r in requirements}))
    )
    for switch in switches_of_environment():
        for name in switch.dists:
            if fault := _fault(name, switch.source):
                raise UsageError(f"{switch.source}: {fault}")
    with disabled_plugins(config.plugins.disable):
        faults = [fault for fault in map(_unmet, requirements) if fault]
    if faults:
        raise PluginError("\n".join(f"plugins.require: {fault}" for fault in faults))


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ConfigError(
            f"plugins.require: {text!r} is no requirement such as 'reid-plugin-timm>=0.1'"
        ) from error


def _unmet(requirement: Requirement) -> str:
    """Say why a requirement is not met; empty when it is."""
    dist = canonicalize_name(requirement.name)
    for switch in active_switches():
        if switch.covers(dist):
            return f"{requirement} cannot be met: {dist} is disabled by {switch.source}; " + (
                switch.undo(dist)
            )
    found = installed_version(dist)
    if found is None or not requirement.specifier.contains(found, prereleases=True):
        return (
            f"{requirement} is not met (installed: {found or 'nothing'}); "
            f"pip install '{requirement}'"
        )
    return ""


def _disable_problems(config: Config, required: set[str]) -> Iterator[ConfigProblem]:
    for position, name in enumerate(config.plugins.disable):
        path = ("plugins", "disable", position)
        if canonicalize_name(name) in required:
            fault = f"{name} is in plugins.require too; remove it from one of them"
        else:
            fault = _fault(name, "plugins.disable")
        if fault:
            yield ConfigProblem(dotted(path), fault, config.origin(path))


def _fault(name: str, source: str) -> str:
    """Say what is wrong with the name of a distribution to leave out; empty when nothing is."""
    if name == ALL:
        return ""
    if not _NAME.match(name):
        return f"{name!r} is neither a distribution such as 'reid-plugin-timm' nor '{ALL}'"
    dist, dists = canonicalize_name(name), installed().dists()
    if dist == CORE:
        return f"{CORE} cannot be disabled: nothing works without it"
    if dist in dists:
        return ""
    is_known = any(dist in by_dist for by_dist in KNOWN.values())
    if not is_known and (near := _near(dist, dists)):
        return f"{dist} provides nothing here; did you mean {near}?"
    log.warning("%s: %s provides nothing here, so there is nothing to disable", source, dist)
    return ""


def _near(dist: str, dists: tuple[str, ...]) -> str | None:
    # The common beginning would make every plugin look like every other one.
    by_stem = {other.removeprefix(PLUGIN_PREFIX): other for other in dists}
    stem = dist.removeprefix(PLUGIN_PREFIX)
    found = difflib.get_close_matches(stem, list(by_stem), n=1, cutoff=_NEAR)
    return by_stem[found[0]] if found else None
