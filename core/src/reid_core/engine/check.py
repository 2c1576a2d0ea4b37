"""Everything about a configuration that can be known before data is read."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from reid_core.config import Config, ConfigProblem
from reid_core.config.plugin_settings import check_plugin_settings
from reid_core.config.problems import dotted, raise_problems
from reid_core.config.shape import keys_at
from reid_core.config.uses import Use, uses_of
from reid_core.engine.evaluation.parts import build_rerankers
from reid_core.engine.hooks.hook_checks import is_observer
from reid_core.engine.hooks.hook_manager import HookManager
from reid_core.errors import ConfigError, PluginError, did_you_mean
from reid_core.optim.learning_rate import schedule_context
from reid_core.optim.optimizers import build_from_groups
from reid_core.plugins.component_ref import ComponentRef, singular
from reid_core.plugins.context import CONTEXT
from reid_core.plugins.index import disabled_plugins
from reid_core.plugins.registries import HOOKS, registry_of

#: Steps of an epoch for checks before the data is known.
_NOMINAL_STEPS = 1000


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
    with disabled_plugins(config.plugins.disable):
        return _checked(config)


def _checked(config: Config) -> tuple[ComponentRef, ...]:
    check_plugin_settings(config)
    refs: list[ComponentRef] = []
    faults: list[str] = []
    problems: list[ConfigProblem] = []
    for use in uses_of(config):
        try:
            refs.append(registry_of(use.kind).resolve(use.name))
            problems += _parameter_problems(use, config)
        except PluginError as error:
            place = config.origin((*use.path, "name"))
            faults.append(f"{f'{place}  ' if place else ''}{dotted(use.path)}: {error}")
    if faults:
        raise PluginError("\n".join(faults))
    problems += _contradictions(config)
    raise_problems(problems)
    build_rerankers(config)
    hooks: list[object] = []
    raise_problems(_build_problems(config, hooks))
    raise_problems(_hook_problems(config, hooks))
    return tuple(dict.fromkeys(refs))


def build_hooks(config: Config) -> list[tuple[str, object]]:
    """Build the hooks of a config, as (id, hook) in call order."""
    return [(hook.key, HOOKS.build(hook.as_call())) for hook in config.all_hooks]


def _contradictions(config: Config) -> Iterator[ConfigProblem]:
    """Yield what cannot go together, although each of it could be."""
    if config.evaluate.every == 0 and config.evaluate.at_start:
        yield _problem(config, ("evaluate", "at_start"), "needs evaluate.every above 0")
    train = config.train
    if train.limit_batches is not None and train.overfit_batches is not None:
        yield _problem(
            config,
            ("train", "overfit_batches"),
            f"is {train.overfit_batches}, and train.limit_batches is {train.limit_batches}; "
            "expected one of them: take the other back by --set train.limit_batches=null or "
            "--set train.overfit_batches=null",
        )


def _build_problems(config: Config, hooks: list[object]) -> list[ConfigProblem]:
    """Build what is cheap to build, for the checks that only a constructor can make.

    The hooks are added to ``hooks``: what is built need not be built again to be asked.
    """
    train, problems = config.train, []
    context: dict[str, object] = {
        **schedule_context(
            train.schedule, train.optimizer, epochs=train.epochs, iters_per_epoch=_NOMINAL_STEPS
        ),
        **config.data.transform_context,
    }
    for use in uses_of(config):
        try:
            if use.kind in ("schedules", "transforms", "hooks"):
                built = registry_of(use.kind).build(use.call, **context)
                hooks += [built] if use.kind == "hooks" else []
            elif use.kind == "optimizers":
                build_from_groups(train.optimizer, [{"params": [nn.Parameter(torch.zeros(2, 2))]}])
        except ConfigError as error:
            problems.append(_problem(config, use.path, str(error)))
    return problems


def _hook_problems(config: Config, hooks: list[object]) -> list[ConfigProblem]:
    manager = HookManager()
    manager.extend(list(zip((hook.key for hook in config.all_hooks), hooks, strict=True)))
    found = [*_wrong_on_error(config, manager), *manager.validate_config(config)]
    return [p if p.origin else _problem(config, _parts(p.path), p.message) for p in found]


def _wrong_on_error(config: Config, manager: HookManager) -> Iterator[ConfigProblem]:
    hooks = dict(manager.items())
    for group, listed in (("hooks", config.hooks), ("default_hooks", config.default_hooks)):
        for position, hook in enumerate(listed):
            if hook.on_error == "disable" and not is_observer(hooks[hook.key]):
                yield _problem(
                    config,
                    (group, position, "on_error"),
                    f"hook {hook.name} cannot be switched off when it fails: the run may depend on "
                    "it (its class does not say observer = True); remove on_error",
                )


def _parameter_problems(use: Use, config: Config) -> list[ConfigProblem]:
    parameters = {key: value for key, value in use.call.items() if key != "name"}
    context = dict.fromkeys(CONTEXT.get(use.kind, ()))
    call = registry_of(use.kind).bind(use.name, parameters, context)
    what = f"{singular(use.kind)} {use.name}"
    problems = []
    for problem in call.problems:
        is_written = problem.parameter in parameters
        path = (*use.path, problem.parameter) if is_written else use.path
        # The schema's own keys stand beside the component's: a typo may mean one of those.
        known = keys_at(use.path)
        is_typo = is_written and problem.parameter not in known
        hint = did_you_mean(problem.parameter, known) if is_typo else ""
        message = problem.message if "did you mean" in problem.message else problem.message + hint
        problems.append(_problem(config, path, f"{what}: {message}"))
    return problems


def _parts(path: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in path.split("."))


def _problem(config: Config, path: tuple[str | int, ...], message: str) -> ConfigProblem:
    return ConfigProblem(dotted(path), message, config.origin(path))
