from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reid_core.config import Config, load_config
from reid_core.config.load import config_from_plain, dump_config
from reid_core.errors import ConfigError, UsageError

WHOLE = """\
description: "1e-4"
seed: 3
output: 'no'
model:
  name: baseline
  backbone: {name: timm, model_name: resnet50, table: {1: [a, null]}}
  head: bnneck
  losses: [cross_entropy, {name: triplet, margin: 0.3, mining: hard, weight: 0.5}]
data:
  train: {name: market1501, root: 'datasets/größe'}
  image_size: [64, 32]
  batch: {sampler: random, size: 8}
  transforms: [random_flip, {name: pad_crop, padding: 10}]
train:
  optimizer: {name: sgd, lr: 1e-5, momentum: 0.9}
  schedule: {name: multistep, milestones: [40, 70], warmup: {epochs: 0.5, factor: 0.01}}
evaluate: {every: 0, protocol: {name: market1501, ranks: [1, 5]}}
hooks: [{name: ema, id: slow, decay: 0.9999}]
default_hooks: [console]
plugins: {require: ["reid-plugin-timm>=0.1"]}
"""


def test_a_recipe_becomes_a_config_named_after_its_file(write) -> None:
    config = load_config(write("bot_resnet50.yaml", WHOLE))
    assert config.name == "bot_resnet50"
    assert config.seed == 3
    assert config.description == "1e-4"
    assert config.data.image_size == (64, 32)
    assert config.model.losses[1].weight == 0.5
    assert config.train.optimizer.parameters == {"momentum": 0.9}
    assert config.evaluate.protocol.parameters == {"ranks": [1, 5]}


def test_an_empty_recipe_is_the_default_configuration(write) -> None:
    assert load_config(write("f.yaml", "")).plain() == Config().plain()


def test_a_path_may_be_given_as_text_or_path(write) -> None:
    path = write("f.yaml", "seed: 5")
    assert load_config(path).seed == load_config(str(path)).seed == 5


def test_every_value_knows_where_it_was_written(write) -> None:
    write("base.yaml", "train:\n  epochs: 3\n")
    path = write("f.yaml", "extends: base.yaml\nmodel:\n  losses:\n    - triplet\n")
    config = load_config(path, ["seed=3"])
    assert str(config.origin(("train", "epochs"))) == "base.yaml:2:3"
    assert str(config.origin(("model", "losses", 0, "margin"))) == "f.yaml:4:7"
    assert str(config.origin(("seed",))) == "--set seed=3"
    assert Config().origin(("seed",)) is None


@pytest.mark.parametrize("text", [WHOLE, "", "data: {train: synthetic}"])
def test_a_dumped_config_is_read_back_as_it_was(write, text: str) -> None:
    config = load_config(write("f.yaml", text))
    again = load_config(write("g.yaml", dump_config(config)))
    assert again.plain() == config.plain()
    assert dump_config(again) == dump_config(config)
    assert yaml.safe_load(dump_config(config)).keys() == config.plain().keys()


def test_a_dumped_config_names_every_default() -> None:
    text = dump_config(Config())
    for line in ("workers: 4", "precision: fp32", "- name: checkpoint", "lr: 0.00035"):
        assert line in text


def test_a_config_stored_as_plain_types_is_read_back(write) -> None:
    config = load_config(write("f.yaml", WHOLE))
    again = config_from_plain(config.plain(), source="model.safetensors")
    assert again.plain() == config.plain()
    assert str(again.origin(("seed",))) == "model.safetensors"


def test_a_stored_config_takes_overrides(write) -> None:
    plain = load_config(write("f.yaml", WHOLE)).plain()
    config = config_from_plain(
        plain, ["data.test={name: market1501, root: x}", "optimizer.lr=1e-4"], source="x"
    )
    assert [d.as_call() for d in config.data.test_sets] == [{"name": "market1501", "root": "x"}]
    assert config.train.optimizer.lr == 0.0001
    with pytest.raises(UsageError):
        config_from_plain(plain, ["seed"], source="x")


def test_a_stored_config_of_another_schema_is_told_with_its_source() -> None:
    with pytest.raises(ConfigError) as raised:
        config_from_plain({"seed": -1, "sede": 1}, source="old.ckpt")
    assert str(raised.value).splitlines() == [
        "old.ckpt  seed: input should be greater than or equal to 0, got -1",
        "old.ckpt  sede: unknown key; did you mean seed?",
    ]


def test_a_recipe_that_is_not_there_is_an_error_and_no_default(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not found"):
        load_config(tmp_path / "nothing.yaml")
