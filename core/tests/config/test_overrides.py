from __future__ import annotations

import pytest

from reid_core.config import load_config
from reid_core.errors import ConfigError, UsageError

LOSSES = "model:\n  losses: [cross_entropy, {name: triplet, margin: 0.3}]\n"


def test_overrides_are_set_in_their_order(load) -> None:
    config = load("seed: 1", "seed=2", "train.epochs=5", "seed=3")
    assert (config.seed, config.train.epochs) == (3, 5)


def test_a_section_need_not_be_named(load) -> None:
    config = load("seed: 0", "optimizer.lr=1e-4", "workers=0", "batch.instances=2")
    assert config.train.optimizer.lr == 0.0001
    assert config.data.workers == 0
    assert config.data.batch.as_call() == {"name": "identity", "instances": 2}


def test_a_value_may_hold_equal_signs_and_spaces(load) -> None:
    config = load("seed: 0", "description= a=b = c ", " seed =4")
    assert config.description == "a=b = c"
    assert config.seed == 4


def test_a_value_is_yaml(load) -> None:
    config = load(
        "seed: 0",
        "data.image_size=[64, 32]",
        "data.train={name: market1501, root: x}",
        "output=no",
        "train.schedule.warmup=null",
        "transforms=[random_flip, {name: pad_crop, padding: 5}]",
    )
    assert config.data.image_size == (64, 32)
    assert [d.as_call() for d in config.data.train] == [{"name": "market1501", "root": "x"}]
    assert config.output == "no"
    assert [t.as_call() for t in config.data.transforms] == [
        {"name": "random_flip"},
        {"name": "pad_crop", "padding": 5},
    ]


def test_a_list_position_is_addressed_by_number(load) -> None:
    config = load(LOSSES, "losses.1.margin=0.5", "model.losses.0.label_smoothing=0.1")
    assert [loss.as_call() for loss in config.model.losses] == [
        {"name": "cross_entropy", "label_smoothing": 0.1},  # it was a bare name in the file
        {"name": "triplet", "margin": 0.5},
    ]


def test_the_default_hooks_are_addressed_by_the_position_that_show_prints(load) -> None:
    config = load("seed: 0", "default_hooks.1.every=2", "default_hooks.1.keep=3")
    assert [h.name for h in config.default_hooks][:2] == ["lr_schedule", "checkpoint"]
    assert config.default_hooks[1].parameters == {"every": 2, "keep": 3}
    assert len(config.default_hooks) == 6


@pytest.mark.parametrize("written", ["market1501", "{name: market1501}", "[market1501]"])
def test_a_single_data_set_is_position_0_however_it_is_written(load, written: str) -> None:
    config = load(f"data: {{train: {written}}}", "data.train.0.root=x")
    assert [d.as_call() for d in config.data.train] == [{"name": "market1501", "root": "x"}]


def test_a_component_named_by_an_override_replaces_the_old_one(load) -> None:
    text = "model: {backbone: {name: timm, model_name: resnet50}}"
    assert load(text, "model.backbone=osnet").model.backbone.as_call() == {"name": "osnet"}
    assert load(text, "backbone={name: timm, stride: 1}").model.backbone.as_call() == {
        "name": "timm",
        "model_name": "resnet50",
        "stride": 1,
    }


def test_one_override_may_give_parameters_to_the_component_of_another(load) -> None:
    config = load("seed: 0", "backbone=timm", "backbone.stride=1", "losses=[ce]", "losses.0.p=2")
    assert config.model.backbone.as_call() == {"name": "timm", "stride": 1}
    assert config.model.losses[0].as_call() == {"name": "ce", "p": 2}
    config = load("model: {backbone: {name: timm, stride: 1}}", "model.backbone=timm")
    assert config.model.backbone.as_call() == {"name": "timm", "stride": 1}


def test_a_bare_component_can_be_given_parameters(load) -> None:
    config = load("model: {head: bnneck}", "model.head.pooling=gem")
    assert config.model.head.as_call() == {"name": "bnneck", "pooling": "gem"}


def test_a_mapping_from_path_to_value_is_taken_as_it_is(write, tmp_path) -> None:
    path = write("f.yaml", "seed: 0")
    config = load_config(
        path, {"description": "1e-4", "output": tmp_path, "data.image_size": (64, 32)}
    )
    assert config.description == "1e-4"  # no YAML: it is a text already
    assert config.output == str(tmp_path)
    assert config.data.image_size == (64, 32)


def test_one_text_is_one_override_and_not_its_letters(write) -> None:
    assert load_config(write("f.yaml", "seed: 0"), "train.epochs=3").train.epochs == 3


@pytest.mark.parametrize("text", ["train.epochs", "", "=3", " =3", "train.=3", ".seed=1", "a..b=1"])
def test_an_override_that_is_no_assignment_is_a_usage_error(load, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        load("seed: 0", text)
    assert str(raised.value) == (
        f"--set {text!r}: expected key=value, for example --set train.epochs=3"
    )


def test_an_empty_value_is_empty_text_and_no_number(load, problems) -> None:
    assert load("description: x", "description=").description == ""
    assert problems("seed: 1", "seed=")[0].startswith("--set seed=  seed: input should be a valid")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed.x=1", "seed.x: 'x' cannot be set inside the value 7"),
        ("losses.2.margin=1", "losses.2.margin: 2 is no position of the list: it has 0 to 1"),
        ("losses.x=1", "losses.x: 'x' is no position of the list: it has 0 to 1"),
        ("losses.-1=1", "losses.-1: '-1' is no position of the list: it has 0 to 1"),
        ("hooks.0.id=x", "hooks.0.id: 0 is no position of the list: it is empty"),
        ("data.test.0.root=x", "data.test.0.root: there is nothing, no list that has a position 0"),
        ("model.0=x", "model.0: there is a mapping of losses, no list that has a position 0"),
        ("seed=#1", "the value is a YAML comment; write text that starts with # in quotes"),
        ("train.epochs=many", "train.epochs: input should be a valid integer, unable to parse "),
        ("train.epohs=3", "train.epohs: unknown key; did you mean epochs?"),
        ("epohs=3", "epohs: unknown key; did you mean train.epochs or "),
        ("lr=3", "lr: unknown key; did you mean train.optimizer.lr?"),
    ],
)
def test_a_wrong_override_is_told_by_its_own_text(problems, override: str, message: str) -> None:
    lines = problems(f"seed: 7\n{LOSSES}", override)
    assert len(lines) == 1
    assert lines[0].startswith(f"--set {override}  {message}")


def test_a_wrong_value_of_a_mapping_is_told_by_its_path(write) -> None:
    with pytest.raises(ConfigError, match=r"^override train\.epochs  train\.epochs: "):
        load_config(write("f.yaml", "seed: 0"), {"train.epochs": 0})


def test_a_value_that_is_no_yaml_is_told_with_its_column(problems) -> None:
    assert problems("seed: 0", "seed={")[0].startswith("--set seed={:1:2  not valid YAML: ")
    assert (
        "tag !!python/name:os.system is not allowed"
        in (problems("seed: 0", "seed=!!python/name:os.system")[0])
    )


def test_the_origin_of_an_overridden_value_is_the_command_line(load) -> None:
    config = load("train:\n  epochs: 3\n  log_every: 5\n", "train.epochs=4")
    assert str(config.origin(("train", "epochs"))) == "--set train.epochs=4"
    assert str(config.origin(("train", "log_every"))) == "f.yaml:3:3"
