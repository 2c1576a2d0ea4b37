"""What can be wrong with the signature that a configuration has to fill."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from pydantic import BaseModel

from reid_core.config.components import (
    BatchConfig,
    Component,
    HookConfig,
    LossConfig,
    OptimizerConfig,
    ScheduleConfig,
)
from reid_core.config.schema import ModelConfig
from reid_core.inspection.finding import Finding
from reid_core.plugins.annotations import signature_of
from reid_core.plugins.component_ref import singular
from reid_core.plugins.context import CONTEXT

#: What the configuration passes on with every optimizer.
ALWAYS_GIVEN = {"optimizers": ("lr", "weight_decay")}

_SECTIONS: dict[str, type[BaseModel]] = {
    "hooks": HookConfig,
    "losses": LossConfig,
    "models": ModelConfig,
    "optimizers": OptimizerConfig,
    "samplers": BatchConfig,
    "schedules": ScheduleConfig,
}


def filled_by_trainer(kind: str) -> tuple[str, ...]:
    """Return the parameters of a kind that come from the trainer."""
    return CONTEXT.get(kind, ())


def required_parameters(factory: Callable[..., object], kind: str) -> list[str]:
    """Return the parameters that only a configuration can fill, and that have no default."""
    given = {*filled_by_trainer(kind), *ALWAYS_GIVEN.get(kind, ())}
    return [
        name
        for name, parameter in signature_of(factory).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in given
    ]


def signature_findings(factory: Callable[..., object], kind: str) -> tuple[Finding, ...]:
    """Check a signature.

    Args:
        factory: A class or function.
        kind: Component kind.
    """
    try:
        parameters = signature_of(factory).parameters
    except (TypeError, ValueError) as error:
        return (_fault(f"has no signature that parameters could be compared with: {error}"),)
    found: list[Finding] = []
    for parameter in parameters.values():
        found += _parameter_findings(parameter, kind)
    star = next((p.name for p in parameters.values() if p.kind is p.VAR_KEYWORD), "")
    if star and not _has_constructor_of_torch(factory):
        found.append(
            _fault(
                f"takes **{star}, so a misspelt parameter of a configuration is taken without a "
                "word; name the parameters instead"
            )
        )
    missing = [name for name in _always_passed(kind) if name not in parameters]
    if missing and not star:
        found.append(
            _fault(
                f"does not take {' and '.join(missing)}, which every {singular(kind)} is given; "
                f"add {'them' if len(missing) > 1 else 'it'} to its parameters"
            )
        )
    return tuple(found)


def _has_constructor_of_torch(factory: Callable[..., object]) -> bool:
    # A module without a constructor of its own has one that names **kwargs and refuses them.
    constructor = getattr(factory, "__init__", None)
    return getattr(constructor, "__module__", None) == "torch.nn.modules.module"


def _always_passed(kind: str) -> tuple[str, ...]:
    return (*filled_by_trainer(kind), *ALWAYS_GIVEN[kind]) if kind in ALWAYS_GIVEN else ()


def _parameter_findings(parameter: inspect.Parameter, kind: str) -> Iterator[Finding]:
    is_required = parameter.default is parameter.empty
    name = parameter.name
    if parameter.kind is parameter.POSITIONAL_ONLY:
        yield Finding(
            "fault" if is_required else "warning",
            "signature",
            f"parameter {name!r} is positional-only, and components are built by keywords; remove "
            "the '/' from its signature",
        )
    elif name in _taken_by_schema(kind) and parameter.kind in (
        parameter.POSITIONAL_OR_KEYWORD,
        parameter.KEYWORD_ONLY,
    ):
        yield Finding(
            "fault" if is_required else "warning",
            "signature",
            f"parameter {name!r} can never be set, because a configuration uses that key for "
            "something else; rename it",
        )


def _taken_by_schema(kind: str) -> set[str]:
    """Return the keys beside a component that the schema keeps to itself."""
    section = _SECTIONS.get(kind, Component)
    passed_on = {*filled_by_trainer(kind), *ALWAYS_GIVEN.get(kind, ())}
    return {"name", *section.model_fields} - passed_on


def _fault(message: str) -> Finding:
    return Finding("fault", "signature", message)
