from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pytest

from reid_core.inspection.parameter_table import ParameterRow, parameter_rows, value_text


def component(
    feature_dim: int,
    root: str | Path,
    *,
    margin: float | Literal["soft"] = 0.3,
    size: tuple[int, ...] = (64, 32),
    activation: Callable[[int], int] = len,  # type: ignore[assignment]
    names: Annotated[list[str] | None, "some"] = None,
    untyped="yes",  # type: ignore[no-untyped-def]
) -> None: ...


def test_each_parameter_has_its_type_and_default_and_says_who_sets_it() -> None:
    assert parameter_rows(component, "heads") == (
        ParameterRow("feature_dim", "int", True, "", True),
        ParameterRow("root", "str | Path", True, "", False),
        ParameterRow("margin", "float | Literal['soft']", False, "0.3", False),
        ParameterRow("size", "tuple[int, ...]", False, "[64, 32]", False),
        ParameterRow("activation", "Callable[[int], int]", False, repr(len), False),
        ParameterRow("names", "list[str] | None", False, "null", False),
        ParameterRow("untyped", "", False, "'yes'", False),
    )


def test_the_trainer_sets_other_parameters_of_other_kinds() -> None:
    rows = parameter_rows(component, "datasets")
    assert not any(row.is_from_trainer for row in rows)


def test_what_cannot_be_resolved_is_shown_as_it_is_written() -> None:
    def component(x: Unknown) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert parameter_rows(component, "heads")[0].type == "Unknown"


def test_stars_are_shown_and_are_not_required() -> None:
    def component(*args: int, **kwargs: str) -> None: ...

    rows = parameter_rows(component, "heads")
    assert [(row.name, row.is_required) for row in rows] == [("*args", False), ("**kwargs", False)]


def test_a_thing_without_a_signature_has_no_rows() -> None:
    assert parameter_rows(type, "heads") == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1e-8, "1.0e-08"),
        ("no", "'no'"),
        ("1e-4", "'1e-4'"),
        ("fc", "fc"),
        ((1, (2.5, None)), "[1, [2.5, null]]"),
        (Path("a"), repr(Path("a"))),
        ("a\nb", repr("a\nb")),
    ],
)
def test_values_are_written_as_yaml_reads_them(value: object, text: str) -> None:
    assert value_text(value) == text
