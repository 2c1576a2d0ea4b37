from __future__ import annotations

import pytest

from reid_core.config.components import Component, HookConfig, LossConfig, WarmupConfig
from reid_core.config.schema import Config, DataConfig
from reid_core.config.shape import (
    expand_names,
    is_list_at,
    keys_at,
    model_at,
    suggestions,
    with_section,
)
from reid_core.config.yaml_reader import read_yaml


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ((), Config),
        (("data",), DataConfig),
        (("data", "train"), Component),
        (("data", "test", 0), Component),
        (("model", "losses", 3), LossConfig),
        (("default_hooks", 0), HookConfig),
        (("train", "schedule", "warmup"), WarmupConfig),
        (("train", "epochs"), None),
        (("model", "backbone", "width"), None),
        (("nowhere", "at", "all"), None),
    ],
)
def test_the_model_of_a_path_is_found(path: tuple[str | int, ...], model: type | None) -> None:
    assert model_at(path) is model


def test_the_keys_of_a_path_are_sorted() -> None:
    assert keys_at(("train", "schedule", "warmup")) == ["epochs", "factor", "method", "steps"]
    assert keys_at(("train", "epochs")) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("data", "train"), True),
        (("data", "test"), True),
        (("hooks",), True),
        (("model", "losses"), True),
        (("plugins", "require"), True),
        (("data", "image_size"), False),
        (("model", "backbone"), False),
        (("model", "backbone", "sizes"), False),
    ],
)
def test_lists_of_the_schema_are_known(path: tuple[str | int, ...], expected: bool) -> None:
    assert is_list_at(path) is expected


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        (("optimizer", "lr"), ("train", "optimizer", "lr")),
        (("batch",), ("data", "batch")),
        (("losses", 0, "margin"), ("model", "losses", 0, "margin")),
        (("protocol",), ("evaluate", "protocol")),
        (("train", "epochs"), ("train", "epochs")),  # a section, though data has the key too
        (("seed",), ("seed",)),
        (("nowhere", "x"), ("nowhere", "x")),
        ((0, "x"), (0, "x")),
    ],
)
def test_a_section_need_not_be_named(
    path: tuple[str | int, ...], whole: tuple[str | int, ...]
) -> None:
    assert with_section(path) == whole


def test_bare_component_names_are_written_out_and_nothing_else_is_touched() -> None:
    text = """
    description: triplet
    output: runs
    model:
      backbone: osnet_x1_0
      head: {name: bnneck, pooling: avg}
      losses: [cross_entropy, {name: triplet, mining: hard}]
    data:
      train: market1501
      test: [market1501, duke]
      batch: {sampler: identity}
    evaluate: {protocol: market1501}
    hooks: [ema]
    plugins: {require: [reid-plugin-timm]}
    """
    assert expand_names(read_yaml(text, "f.yaml")).plain() == {
        "description": "triplet",
        "output": "runs",
        "model": {
            "backbone": {"name": "osnet_x1_0"},
            "head": {"name": "bnneck", "pooling": "avg"},
            "losses": [{"name": "cross_entropy"}, {"name": "triplet", "mining": "hard"}],
        },
        "data": {
            "train": {"name": "market1501"},
            "test": [{"name": "market1501"}, {"name": "duke"}],
            "batch": {"sampler": "identity"},
        },
        "evaluate": {"protocol": {"name": "market1501"}},
        "hooks": [{"name": "ema"}],
        "plugins": {"require": ["reid-plugin-timm"]},
    }


def test_an_expanded_name_stays_where_it_was_written() -> None:
    root = expand_names(read_yaml("model:\n  backbone: osnet\n", "f.yaml"))
    assert str(root.origin_of(("model", "backbone", "name"))) == "f.yaml:2:3"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("trainn",), ["train"]),
        (("train", "epohs"), ["epochs"]),
        (("train", "lr"), ["train.optimizer.lr"]),
        (("optimizer",), ["train.optimizer"]),
        (("evaluate", "epochs"), ["train.epochs", "train.schedule.warmup.epochs"]),
        (("data", "batch_size"), ["batch", "evaluate.batch_size"]),
        (("epoch",), ["train.epochs", "train.schedule.warmup.epochs"]),
        (("train", "image_sizes"), ["data.image_size"]),
        (("train", "name"), []),  # at home in too many places to be a hint
        (("train", "zzz"), []),
    ],
)
def test_an_unknown_key_is_looked_for_beside_and_at_its_home(
    path: tuple[str, ...], expected: list[str]
) -> None:
    assert suggestions(path) == expected
