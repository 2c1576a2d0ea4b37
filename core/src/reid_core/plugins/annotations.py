"""Values from a config against the annotations of a signature."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic_core import SchemaError

_NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    SchemaError,
)


def signature_of(factory: Callable[..., object]) -> inspect.Signature:
    """Return the signature of a class or function, without evaluating its annotations.

    Raises:
        ValueError: It has none, as some built-in functions.
        TypeError: It cannot be called.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        # Otherwise a name that exists for type checkers only is an error from 3.14 on.
        return inspect.signature(factory, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(factory)


def hints_of(factory: Callable[..., object], signature: inspect.Signature) -> dict[str, object]:
    """Return the annotations of the parameters, as types.

    An annotation that cannot be resolved, such as a name imported for type checkers only, is left
    out: it costs the check of that one parameter, not the build.

    Args:
        factory: A class or function.
        signature: Its signature.
    """
    target = factory.__init__ if inspect.isclass(factory) else factory
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:  # an annotation is code and may raise anything
        namespace = getattr(inspect.unwrap(target), "__globals__", {})
    hints: dict[str, object] = {}
    for name, parameter in signature.parameters.items():
        hints.update(_resolve(name, parameter.annotation, namespace))
    return hints


def _resolve(name: str, annotation: object, namespace: dict[str, object]) -> Mapping[str, object]:
    if annotation is inspect.Parameter.empty:
        return {}

    def holder() -> None: ...

    holder.__annotations__ = {name: annotation}
    try:
        return typing.get_type_hints(holder, globalns=namespace, include_extras=True)
    except Exception:
        return {}


def convert(value: object, hint: object) -> tuple[object, str]:
    """Validate a value, and convert it where that loses nothing.

    ``1`` becomes ``1.0``, ``"1e-4"`` becomes ``0.0001`` and a list becomes a tuple; a truth value
    is no number.

    Args:
        value: What the config says.
        hint: The parameter's type, as :func:`hints_of` returns it; None where there is none.

    Returns:
        The converted value, and what is wrong with it: empty when nothing is.
    """
    adapter = None if hint is None else _adapter(hint)
    if adapter is None:
        return value, ""
    try:
        converted = adapter.validate_python(value)
        if isinstance(converted, Iterator) and not isinstance(value, Iterator):
            if isinstance(value, str):
                return value, f"input should be a list, got {value!r}"
            # For Iterable[…] pydantic checks while one iterates, once; a parameter outlives that.
            converted = list(converted)
    except ValidationError as error:
        return value, f"{_reasons(error)}, got {value!r}"
    except _NO_SCHEMA:
        return value, ""
    if isinstance(value, bool) and _is_number(converted):
        return value, f"input should be a number, got {value!r}"
    return converted, ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reasons(error: ValidationError) -> str:
    reasons = []
    for fault in error.errors(include_url=False):
        text = fault["msg"].removeprefix("Value error, ")
        place = ".".join(str(part) for part in fault["loc"] if isinstance(part, int))
        reasons.append(f"{f'{place}: ' if place else ''}{text[:1].lower()}{text[1:]}")
    return "; or ".join(sorted(set(reasons)))


def _adapter(hint: Any) -> TypeAdapter[object] | None:  # noqa: ANN401 — any annotation
    try:
        return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except _NO_SCHEMA:
        pass  # a pydantic model or dataclass brings its own configuration
    try:
        return TypeAdapter(hint)
    except _NO_SCHEMA:
        return None
