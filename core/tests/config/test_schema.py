from __future__ import annotations

import pytest
from pydantic import ValidationError

from reid_core.config import Config
from reid_core.config.schema import DEFAULT_HOOKS, MAX_WORKERS
from reid_core.plugins.index import installed


def test_the_default_configuration_is_valid_and_lists_the_default_hooks() -> None:
    config = Config()
    assert tuple(hook.name for hook in config.default_hooks) == DEFAULT_HOOKS
    assert config.hooks == []
    assert config.plain()["default_hooks"] == [
        {"name": name, "id": None, "on_error": None} for name in DEFAULT_HOOKS
    ]


def test_every_component_of_the_default_configuration_is_installed() -> None:
    config, index = Config(), installed()
    for hook in config.all_hooks:
        assert index.find("hooks", hook.name).status == "ok"
    for kind, name in [
        ("models", config.model.name),
        ("datasets", config.data.train[0].name),
        ("samplers", config.data.batch.sampler),
        ("optimizers", config.train.optimizer.name),
        ("schedules", config.train.schedule.name),
        ("protocols", config.evaluate.protocol.name),
    ]:
        assert index.find(kind, name).status == "ok"


# Case B023.
@pytest.mark.parametrize("workers", [0, 1, MAX_WORKERS])
def test_a_sensible_number_of_workers_is_taken(load, workers: int) -> None:
    assert load(f"data: {{workers: {workers}}}").data.workers == workers


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ("-1", "input should be greater than or equal to 0, got -1"),
        ("1000", f"input should be less than or equal to {MAX_WORKERS}, got 1000"),
        ("2.5", "input should be a valid integer, got a number with a fractional part, got 2.5"),
        ("no", "input should be a valid integer, unable to parse string as an integer, got 'no'"),
        ("true", "expected a number, got true"),
    ],
)
def test_an_absurd_number_of_workers_is_an_error(problems, workers: str, message: str) -> None:
    assert problems(f"data: {{workers: {workers}}}") == [f"f.yaml:1:8  data.workers: {message}"]


@pytest.mark.parametrize(
    "text",
    [
        "seed: -1",
        "output: ''",
        "train: {epochs: 0}",
        "train: {log_every: 0}",
        "train: {precision: fp8}",
        "train: {optimizer: {lr: 0}}",
        "train: {optimizer: {weight_decay: -1}}",
        "train: {schedule: {warmup: {epochs: -1}}}",
        "train: {schedule: {warmup: {epochs: 1, factor: 0}}}",
        "train: {schedule: {warmup: {epochs: 1, factor: 1.5}}}",
        "train: {schedule: {warmup: {}}}",
        "train: {schedule: {warmup: {epochs: 1, steps: 1}}}",
        "evaluate: {every: -1}",
        "evaluate: {batch_size: 0}",
        "evaluate: {distance: cosin}",
        "evaluate: {monitor: map}",
        "data: {image_size: [4, 128]}",
        "data: {image_size: [128, 64, 3]}",
        "data: {std: [1, 1, 0]}",
        "data: {mean: [0.5, .inf, 0.5]}",
        "data: {train: []}",
        "data: {interpolation: nearest}",
        "data: {broken_images: ignore}",
        "model: {losses: [{name: triplet, weight: -0.1}]}",
        "model: {losses: [{name: triplet, weight: true}]}",
        "model: {losses: triplet}",
        "model: {backbone: {name: ''}}",
        "hooks: [{name: ema, id: 3}]",
        "plugins: {require: reid-plugin-timm}",
    ],
)
def test_a_value_out_of_range_is_an_error_with_a_place(problems, text: str) -> None:
    (line,) = problems(text)
    assert line.startswith("f.yaml:1:")


def test_evaluation_can_be_turned_off_and_hooks_be_left_empty(load) -> None:
    config = load("evaluate: {every: 0}\nhooks:\ndefault_hooks:\n")
    assert config.evaluate.every == 0
    assert config.all_hooks == []


def test_a_single_data_set_need_not_be_in_a_list(load) -> None:
    config = load("data: {train: market1501, test: {name: market1501, root: x}}")
    assert [d.as_call() for d in config.data.train] == [{"name": "market1501"}]
    assert [d.as_call() for d in config.data.test_sets] == [{"name": "market1501", "root": "x"}]
    assert str(config.origin(("data", "test", 0, "root"))) == "f.yaml:1:52"


def test_without_test_sets_the_training_sets_are_evaluated(load) -> None:
    config = load("data: {train: [market1501, synthetic]}")
    assert config.data.test is None
    assert [d.name for d in config.data.test_sets] == ["market1501", "synthetic"]


def test_hooks_are_called_before_the_default_ones(load) -> None:
    config = load("hooks: [ema, {name: ema, id: slow}]\ndefault_hooks: [console]")
    assert [hook.key for hook in config.all_hooks] == ["ema", "slow", "console"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hooks:\n  - ema\n  - {name: other, id: ema}\n",
            "f.yaml:3:5  hooks.1: hook id 'ema' is used twice in hooks; "
            "give one of them another id",
        ),
        (
            "default_hooks: [console, console]",
            "f.yaml:1:26  default_hooks.1: hook id 'console' is used twice in default_hooks; "
            "give one of them another id",
        ),
        (
            "seed: 0\nhooks: [{name: checkpoint, every: 2}]",
            "f.yaml:2:9  hooks.0: hook id 'checkpoint' is used by a default hook too; set that "
            "one's parameters in default_hooks, or give this one another id",
        ),
    ],
)
def test_a_hook_id_is_used_once(problems, text: str, message: str) -> None:
    assert problems(text) == [message]


def test_a_config_cannot_be_changed(load) -> None:
    config = load("seed: 1")
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 2
    with pytest.raises(ValidationError, match="frozen"):
        config.train.optimizer.lr = 1.0


def test_another_run_folder_is_another_config_with_the_same_rest(load) -> None:
    config = load("seed: 3\noutput: a")
    other = config.with_output("[odd] # name")
    assert (config.output, other.output) == ("a", "[odd] # name")
    assert other.plain() == {**config.plain(), "output": "[odd] # name"}
    assert other.name == config.name == "f"
    assert other.origin(("seed",)) == config.origin(("seed",))
