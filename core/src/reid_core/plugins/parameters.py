"""Parameters from a config against the signature of what they are meant for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from reid_core.errors import did_you_mean

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class ParameterProblem:
    """A parameter that a component cannot take.

    Args:
        parameter: Its name; empty when the component as a whole is meant.
        message: What is wrong and what would be right.
    """

    parameter: str
    message: str


@dataclass(frozen=True)
class BoundCall:
    """Keywords that fit a factory, or the reasons why they do not."""

    keywords: dict[str, object]
    problems: tuple[ParameterProblem, ...]


def bind(
    factory: Callable[..., object],
    parameters: Mapping[str, object],
    context: Mapping[str, object],
) -> BoundCall:
    """Match config parameters and context against the signature of ``factory``.

    Config parameters must all be known; each is validated, and converted where that loses nothing
    (``1`` to ``1.0``, a list to a tuple), against its annotation. Context is what the caller can
    offer, such as ``feature_dim``; it is passed only where the signature names it.

    Args:
        factory: A class or function that builds a component.
        parameters: What the config says.
        context: What the caller offers.
    """
    # Imported here: it needs pydantic, which takes longer to load than a listing takes in all.
    from reid_core.plugins.annotations import convert, hints_of, signature_of

    try:
        signature = signature_of(factory)
    except (TypeError, ValueError) as error:
        problem = ParameterProblem("", f"has no signature to compare with: {error}")
        return BoundCall({}, (problem,))
    named = {n: p for n, p in signature.parameters.items() if p.kind in _NAMED}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    takes_any = takes_any and not _has_no_own_constructor(factory)
    hints = hints_of(factory, signature)
    keywords: dict[str, object] = {n: v for n, v in context.items() if n in named}
    problems = []
    for name, value in parameters.items():
        if name in context:
            problems.append(ParameterProblem(name, "is set by the trainer; remove it"))
        elif name in named:
            keywords[name], fault = convert(value, hints.get(name))
            problems += [ParameterProblem(name, fault)] if fault else []
        elif takes_any:
            keywords[name] = value
        else:
            problems.append(_unknown(name, [n for n in named if n not in context]))
    problems += _missing(signature, {*parameters, *context})
    return BoundCall(keywords, tuple(problems))


def _unknown(name: str, settable: list[str]) -> ParameterProblem:
    key, colon, value = name.partition(":")
    if colon and key in settable:
        # {identities:3} is one key in YAML, not a key and a value.
        return ParameterProblem(name, f"a space must follow the colon: {key}: {value}")
    known = f"known: {', '.join(settable)}" if settable else "it takes none"
    return ParameterProblem(name, f"unknown parameter{did_you_mean(name, settable)} ({known})")


def _missing(signature: inspect.Signature, given: set[str]) -> Iterator[ParameterProblem]:
    for name, parameter in signature.parameters.items():
        if parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            yield ParameterProblem(name, f"parameter {name!r} cannot be given by name")
        elif parameter.kind in _NAMED and name not in given:
            yield ParameterProblem(name, f"required parameter {name!r} is missing")


def _has_no_own_constructor(factory: Callable[..., object]) -> bool:
    """Say whether a class takes its constructor from ``torch.nn.Module``.

    That one is declared to take any keyword and refuses all of them. It is known by the class that
    has it, since nothing here imports torch, and torch.compile puts a function of its own there.
    """
    mro = factory.__mro__ if isinstance(factory, type) else ()
    owner = next((one for one in mro if "__init__" in vars(one)), None)
    return owner is not None and owner.__module__ == "torch.nn.modules.module"
