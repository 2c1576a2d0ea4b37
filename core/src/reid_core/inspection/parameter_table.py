"""The parameters of a component, as a person or a program reads them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType

from reid_core.config.yaml_writer import write_yaml
from reid_core.inspection.signature_checks import filled_by_trainer
from reid_core.plugins.annotations import hints_of, signature_of

_PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Args:
        name: Its name.
        type: Its annotation; empty where there is none.
        is_required: Whether it has no default.
        default: The default as YAML, or as Python shows it where YAML cannot; empty where there
            is none.
        is_from_trainer: Whether the trainer fills it in, and a configuration cannot.
    """

    name: str
    type: str
    is_required: bool
    default: str
    is_from_trainer: bool


def parameter_rows(factory: Callable[..., object], kind: str) -> tuple[ParameterRow, ...]:
    """Return the parameters of a class or function, in their order.

    Args:
        factory: The class or function.
        kind: Component kind.
    """
    try:
        signature = signature_of(factory)
    except (TypeError, ValueError):
        return ()
    hints = hints_of(factory, signature)
    return tuple(
        ParameterRow(
            name=name if parameter.kind not in _STARS else f"{_STARS[parameter.kind]}{name}",
            type=_type_text(hints.get(name, parameter.annotation)),
            is_required=parameter.default is parameter.empty and parameter.kind not in _STARS,
            default="" if parameter.default is parameter.empty else value_text(parameter.default),
            is_from_trainer=name in filled_by_trainer(kind),
        )
        for name, parameter in signature.parameters.items()
    )


_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def value_text(value: object) -> str:
    """Return a value as YAML of one line; what YAML cannot say, as Python shows it."""
    if not _is_plain(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    return write_yaml({"x": value}).removeprefix("x:").strip()


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN and not (isinstance(value, str) and "\n" in value)


def _type_text(annotation: object) -> str:
    """Return an annotation as people write it, without the modules of its parts."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, UnionType):
        return " | ".join(map(_type_text, arguments))
    if origin is typing.Annotated:
        return _type_text(arguments[0])
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if isinstance(annotation, list):  # the arguments of a Callable
        return f"[{', '.join(map(_type_text, annotation))}]"
    if origin is not None:
        inner = ", ".join("..." if one is Ellipsis else _type_text(one) for one in arguments)
        return f"{_type_text(origin)}[{inner}]"
    return str(getattr(annotation, "__name__", None) or inspect.formatannotation(annotation))
