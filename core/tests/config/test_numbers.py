"""Case B126: the spellings of a learning rate that have trained at the wrong rate elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reid_core.plugins.index import PluginIndex
from reid_core.plugins.registry import Registry

SPELLINGS = [("1e-4", 0.0001), ("1E-4", 0.0001), ("1.0e4", 10000.0), ("'1e-4'", 0.0001)]


def take(*, lr: float = 0.0, betas: tuple[float, float] = (0.0, 0.0)) -> object:
    return lr, betas


def take_unannotated(lr=None) -> object:
    return lr


@pytest.mark.parametrize(("spelling", "value"), SPELLINGS)
def test_a_number_of_the_schema_is_a_float(
    load: Callable[..., object], spelling: str, value: float
) -> None:
    from_file = load(f"train: {{optimizer: {{lr: {spelling}}}}}")
    from_override = load("seed: 0", f"optimizer.lr={spelling}")
    for config in (from_file, from_override):
        assert config.train.optimizer.lr == value
        assert type(config.train.optimizer.lr) is float


@pytest.mark.parametrize(("spelling", "value"), SPELLINGS)
def test_a_number_of_a_component_is_a_float_by_its_annotation(
    load: Callable[..., object], spelling: str, value: float
) -> None:
    registry = Registry("losses", PluginIndex(()))
    registry.register(take)
    text = f"model: {{losses: [{{name: take, lr: {spelling}, betas: [{spelling}, 1]}}]}}"
    config = load(text)
    assert registry.build(config.model.losses[0].as_call()) == (value, (value, 1.0))
    config = load("model: {losses: [take]}", f"losses.0.lr={spelling}")
    assert registry.build(config.model.losses[0].as_call()) == (value, (0.0, 0.0))


@pytest.mark.parametrize(("spelling", "value"), SPELLINGS[:3])
def test_without_an_annotation_yaml_decides(
    load: Callable[..., object], spelling: str, value: float
) -> None:
    registry = Registry("losses", PluginIndex(()))
    registry.register(take_unannotated)
    config = load(f"model: {{losses: [{{name: take_unannotated, lr: {spelling}}}]}}")
    assert registry.build(config.model.losses[0].as_call()) == value


def test_text_that_looks_like_something_else_stays_text(load: Callable[..., object]) -> None:
    config = load("description: no\noutput: 12:30:00\ndevice: off\n")
    assert (config.description, config.output, config.device) == ("no", "12:30:00", "off")


def test_a_number_in_a_text_field_is_told_to_be_quoted(problems: Callable[..., list[str]]) -> None:
    assert problems("output: 010") == [
        "f.yaml:1:1  output: input should be a valid string, got 10; write text in quotes"
    ]
    assert problems("output: 1e-4")[0].endswith("got 0.0001; write text in quotes")


def test_a_leading_zero_does_not_make_an_octal_number(load: Callable[..., object]) -> None:
    assert load("seed: 010").seed == 10


@pytest.mark.parametrize("text", ["ten", "1e", "12:30:00", "[1]", "null", "true", ".nan", ".inf"])
def test_what_is_no_number_is_an_error_with_key_and_value(
    problems: Callable[..., list[str]], text: str
) -> None:
    (line,) = problems(f"train: {{optimizer: {{lr: {text}}}}}")
    assert line.startswith("f.yaml:1:21  train.optimizer.lr: ")
    assert "got " in line
