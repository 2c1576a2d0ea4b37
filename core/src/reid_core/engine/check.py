"""Everything about a configuration that can be known before data is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from reid_core.config import Config, ConfigProblem
from reid_core.config.problems import dotted, raise_problems
from reid_core.config.shape import keys_at
from reid_core.engine.hook_manager import HookManager
from reid_core.errors import ConfigError, PluginError, did_you_mean
from reid_core.plugins.component_ref import ComponentRef, singular
from reid_core.plugins.metadata import installed_version
from reid_core.plugins.registries import (
    BACKBONES,
    DATASETS,
    HEADS,
    HOOKS,
    LOSSES,
    MODELS,
    OPTIMIZERS,
    PROTOCOLS,
    SAMPLERS,
    SCHEDULES,
    TRANSFORMS,
)
from reid_core.plugins.registry import Registry

#: What the trainer offers to each kind; passed where a component's signature names it.
CONTEXT: dict[str, tuple[str, ...]] = {
    "backbones": ("image_size",),
    "heads": ("feature_dim", "num_prefix_tokens", "num_classes"),
    "losses": ("num_classes", "feature_dim"),
    "models": ("backbone", "head", "losses", "num_classes", "image_size"),
    "transforms": ("image_size",),
    "samplers": ("labels", "camids", "seed"),
    "schedules": ("total_epochs", "warmup_epochs", "base_lr"),
    "optimizers": ("params",),
}


@dataclass(frozen=True)
class _Use:
    registry: Registry
    path: tuple[str | int, ...]
    call: dict[str, object]


def check_config(config: Config) -> tuple[ComponentRef, ...]:
    """Resolve every component, compare its parameters, and ask the hooks.

    Args:
        config: A config that fits the schema.

    Returns:
        Where each component comes from, in the order of the config.

    Raises:
        PluginError: A component or a required distribution is missing or cannot be loaded.
        ConfigError: Parameters do not fit; all problems are listed.
    """
    check_requirements(config.plugins.require)
    refs: list[ComponentRef] = []
    faults: list[str] = []
    problems: list[ConfigProblem] = []
    for use in _uses(config):
        try:
            refs.append(use.registry.resolve(str(use.call["name"])))
            problems += _parameter_problems(use, config)
        except PluginError as error:
            place = config.origin((*use.path, "name"))
            faults.append(f"{f'{place}  ' if place else ''}{dotted(use.path)}: {error}")
    if faults:
        raise PluginError("\n".join(faults))
    if config.evaluate.every == 0 and config.evaluate.at_start:
        problems.append(_problem(config, ("evaluate", "at_start"), "needs evaluate.every above 0"))
    raise_problems(problems)
    raise_problems(_build_problems(config))
    raise_problems(_hook_problems(config))
    return tuple(dict.fromkeys(refs))


def check_requirements(requirements: list[str]) -> None:
    """Check ``plugins.require`` against what is installed.

    Raises:
        ConfigError: An entry is no requirement.
        PluginError: A distribution is missing or of another version.
    """
    faults = []
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise ConfigError(
                f"plugins.require: {text!r} is no requirement such as 'reid-plugin-timm>=0.1'"
            ) from error
        found = installed_version(requirement.name)
        if found is None or not requirement.specifier.contains(found, prereleases=True):
            faults.append(
                f"plugins.require: {text} is not met (installed: {found or 'nothing'}); "
                f"pip install '{text}'"
            )
    if faults:
        raise PluginError("\n".join(faults))


def build_hooks(config: Config) -> list[tuple[str, object]]:
    """Build the hooks of a config, as (id, hook) in call order."""
    return [(hook.key, HOOKS.build(hook.as_call())) for hook in config.all_hooks]


def _build_problems(config: Config) -> list[ConfigProblem]:
    """Build what is cheap to build, for the checks that only a constructor can make."""
    train, problems = config.train, []
    warmup = train.schedule.warmup
    context: dict[str, object] = {
        "total_epochs": float(train.epochs),
        "warmup_epochs": (warmup.epochs if warmup else None) or 0.0,
        "base_lr": train.optimizer.lr,
        "image_size": config.data.image_size,
    }
    for use in _uses(config):
        if use.registry in (SCHEDULES, TRANSFORMS, HOOKS):
            try:
                use.registry.build(use.call, **context)
            except ConfigError as error:
                problems.append(_problem(config, use.path, str(error)))
    return problems


def _hook_problems(config: Config) -> list[ConfigProblem]:
    manager = HookManager()
    manager.extend(build_hooks(config))
    found = manager.validate_config(config)
    return [p if p.origin else _problem(config, _parts(p.path), p.message) for p in found]


def _parameter_problems(use: _Use, config: Config) -> list[ConfigProblem]:
    parameters = {key: value for key, value in use.call.items() if key != "name"}
    context = dict.fromkeys(CONTEXT.get(use.registry.kind, ()))
    call = use.registry.bind(str(use.call["name"]), parameters, context)
    what = f"{singular(use.registry.kind)} {use.call['name']}"
    problems = []
    for problem in call.problems:
        is_written = problem.parameter in parameters
        path = (*use.path, problem.parameter) if is_written else use.path
        # The schema's own keys stand beside the component's: a typo may mean one of those.
        hint = did_you_mean(problem.parameter, keys_at(use.path)) if is_written else ""
        message = problem.message if "did you mean" in problem.message else problem.message + hint
        problems.append(_problem(config, path, f"{what}: {message}"))
    return problems


def _parts(path: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in path.split("."))


def _problem(config: Config, path: tuple[str | int, ...], message: str) -> ConfigProblem:
    return ConfigProblem(dotted(path), message, config.origin(path))


def _uses(config: Config) -> Iterator[_Use]:
    model, data, train = config.model, config.data, config.train
    yield _Use(MODELS, ("model",), model.as_call())
    if model.backbone:
        yield _Use(BACKBONES, ("model", "backbone"), model.backbone.as_call())
    if model.head:
        yield _Use(HEADS, ("model", "head"), model.head.as_call())
    for i, loss in enumerate(model.losses):
        yield _Use(LOSSES, ("model", "losses", i), loss.as_call())
    for i, dataset in enumerate(data.train):
        yield _Use(DATASETS, ("data", "train", i), dataset.as_call())
    for i, dataset in enumerate(data.test or []):
        yield _Use(DATASETS, ("data", "test", i), dataset.as_call())
    yield _Use(SAMPLERS, ("data", "batch"), data.batch.as_call())
    for i, transform in enumerate(data.transforms):
        yield _Use(TRANSFORMS, ("data", "transforms", i), transform.as_call())
    optimizer = {
        "lr": train.optimizer.lr,
        "weight_decay": train.optimizer.weight_decay,
        **train.optimizer.as_call(),
    }
    yield _Use(OPTIMIZERS, ("train", "optimizer"), optimizer)
    yield _Use(SCHEDULES, ("train", "schedule"), train.schedule.as_call())
    yield _Use(PROTOCOLS, ("evaluate", "protocol"), config.evaluate.protocol.as_call())
    for group, hooks in (("hooks", config.hooks), ("default_hooks", config.default_hooks)):
        for i, hook in enumerate(hooks):
            yield _Use(HOOKS, (group, i), hook.as_call())
