from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import pydantic
import pytest

from reid_core.plugins.annotations import convert, hints_of, signature_of

if TYPE_CHECKING:
    from somewhere import Unknown


class WithUnknown:
    def __init__(self, *, table: Unknown, lr: float, sizes: list[Unknown], name: str = "") -> None:
        self.arguments = (table, lr, sizes, name)


class Quacks(Protocol):
    def quack(self) -> None: ...


class Model(pydantic.BaseModel):
    size: int


@dataclass
class Record:
    size: int


@dataclass
class Unresolved:
    size: Unknown


def hints(factory: Callable[..., object]) -> dict[str, object]:
    return hints_of(factory, signature_of(factory))


def test_the_hints_of_a_class_are_those_of_its_constructor() -> None:
    class Part:
        other: str

        def __init__(self, *, margin: float, size: tuple[int, int] = (1, 2)) -> None: ...

    found = hints(Part)
    assert found["margin"] is float
    assert found["size"] == tuple[int, int]
    assert "other" not in found


def test_one_annotation_that_cannot_be_resolved_costs_only_its_own_check() -> None:
    found = hints(WithUnknown)
    assert found["lr"] is float
    assert found["name"] is str
    assert "table" not in found
    assert "sizes" not in found


def test_constraints_written_beside_the_type_are_kept() -> None:
    def build(*, p: Annotated[float, pydantic.Field(ge=0, le=1)]) -> None: ...

    assert convert(0.5, hints(build)["p"]) == (0.5, "")
    assert convert(2, hints(build)["p"]) == (2, "input should be less than or equal to 1, got 2")


def test_a_decorated_function_keeps_its_hints() -> None:
    def inner(*, lr: float) -> None: ...

    @wraps(inner)
    def outer(**kwargs: object) -> None: ...

    assert hints(outer)["lr"] is float


@pytest.mark.parametrize("factory", [partial(math.pow, 2.0), lambda a, b: None])
def test_what_has_no_annotations_has_no_hints(factory: Callable[..., object]) -> None:
    assert hints(factory) == {}


@pytest.mark.parametrize(
    ("value", "hint", "converted"),
    [
        (1, float, 1.0),
        ("1e-4", float, 0.0001),
        ("1e-4", float | None, 0.0001),
        ("1e-4", int | float, 0.0001),
        (3.0, int, 3),
        (None, float | None, None),
        ([256, 128], tuple[int, int], (256, 128)),
        ([1, 2], list[float], [1.0, 2.0]),
        ([1, 2], Sequence[float], [1.0, 2.0]),
        (["1e-4", 2], tuple[float, ...], (0.0001, 2.0)),
        ({"a": 1}, dict[str, float], {"a": 1.0}),
        ("hard", Literal["hard", "soft"], "hard"),
        ("no", bool, False),
        (True, bool, True),
        ("no", str, "no"),
        ("runs", Path, Path("runs")),
        ("1e-4", str | float, "1e-4"),
        ({"size": 3}, Model, Model(size=3)),
        ({"size": 3}, Record, Record(3)),
    ],
)
def test_values_are_converted_where_that_loses_nothing(
    value: object, hint: object, converted: object
) -> None:
    result, fault = convert(value, hint)
    assert (result, fault) == (converted, "")
    assert type(result) is type(converted)


@pytest.mark.parametrize(
    ("value", "hint", "fault"),
    [
        ("much", float, "input should be a valid number, unable to parse string as a number"),
        (3.5, int, "input should be a valid integer, got a number with a fractional part"),
        (None, float, "input should be a valid number"),
        (5, str, "input should be a valid string"),
        ("hrad", Literal["hard", "soft"], "input should be 'hard' or 'soft'"),
        ([1, "x"], tuple[int, int], "1: input should be a valid integer"),
        ("abc", Sequence[str], "'str' instances are not allowed as a Sequence value"),
        ("abc", Iterable[str], "input should be a list"),
        (["x"], Iterable[float], "0: input should be a valid number"),
        (True, float, "input should be a number"),
        (False, int | None, "input should be a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_what_was_got(
    value: object, hint: object, fault: str
) -> None:
    result, message = convert(value, hint)
    assert message.startswith(fault)
    assert message.endswith(f"got {value!r}")
    assert result is value


@pytest.mark.parametrize("value", [[1, 2], (1, 2)])
def test_an_iterable_can_be_read_more_than_once(value: Sequence[int]) -> None:
    converted, fault = convert(value, Iterable[float])
    assert fault == ""
    assert list(converted) == list(converted) == [1.0, 2.0]


@pytest.mark.parametrize("hint", [None, typing.Any, object, Quacks, Unresolved])
def test_a_type_that_cannot_be_checked_lets_the_value_pass(hint: object) -> None:
    value = {"size": 3}
    converted, fault = convert(value, hint)
    assert fault == ""
    assert converted is value


def test_a_class_of_no_schema_is_checked_by_instance() -> None:
    class Table: ...

    table = Table()
    assert convert(table, Table) == (table, "")
    assert convert(1, Table)[1].startswith("input should be an instance of")
