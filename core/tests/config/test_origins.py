"""The resolved configuration with the origin of each value; cases B128, B130, B131 and B132."""

from __future__ import annotations

import pytest

from reid_core.config import load_config
from reid_core.config.load import dump_config
from reid_core.config.origins import dump_with_origins, origin_of


def comments(text):
    """Return the comment behind each line, by the line without it."""
    pairs = (line.split("  # ") for line in text.splitlines() if "  # " in line)
    return {line.strip(): comment for line, comment in pairs}


# B132
def test_the_merged_value_is_shown_with_where_it_came_from(write):
    write(
        "bases/base.yaml", "train:\n  schedule: {name: multistep, milestones: [40, 70]}\nseed: 3\n"
    )
    # The parent is looked for beside the file that names it, not in the working directory.
    write("bases/middle.yaml", "extends: base.yaml\ntrain: {schedule: {milestones: [5]}}\n")
    child = write("child.yaml", "extends: bases/middle.yaml\ntrain:\n  epochs: 80\n")
    config = load_config(child, ["seed=4", "train.schedule.warmup={steps: 3}"])
    assert config.train.schedule.parameters["milestones"] == [5], "replaced, not joined"
    told = comments(dump_with_origins(config))
    assert told["seed: 4"] == "--set seed=4"
    assert told["epochs: 80"] == "child.yaml:3:3"
    assert told["- 5"] == "bases/middle.yaml:2:33"
    assert told["name: multistep"] == "bases/base.yaml:2:14"
    assert told["steps: 3"] == "--set train.schedule.warmup={steps: 3}"
    assert told["channels_last: false"] == "default"


def test_the_text_with_origins_is_the_same_configuration(load, write):
    config = load(
        "description: 'with # a sign, and: a colon'\n"
        "data: {train: [{name: market1501, root: 'a\\b'}], transforms: [], image_size: [64, 32]}\n"
        "hooks: [{name: ema, decay: 0.9}]\n",
        "train.optimizer.lr=1e-4",
        f"description={'long words ' * 30}",
    )
    text = dump_with_origins(config, {("output",): "--output"})
    again = load_config(write("again.yaml", text))
    assert dump_config(again) == dump_config(config)
    assert comments(text)["output: null"] == "--output"
    assert comments(text)["transforms: []"] == "f.yaml:2:50"


def test_an_override_of_several_lines_is_one_comment(load):
    config = load("seed: 1", "train.optimizer={\n  lr: 0.5\n}")
    assert origin_of(config, ("train", "optimizer", "lr")) == "--set train.optimizer={ lr: 0.5 }"


# B128
def test_every_wrong_key_is_told_with_its_line_and_a_near_match(problems):
    assert problems(
        "train:\n  optimzer: {lr: 1e-4}\n  epocs: 3\nmodl: {name: baseline}\nlr: 3\n"
    ) == [
        "f.yaml:2:3  train.optimzer: unknown key; did you mean optimizer?",
        "f.yaml:3:3  train.epocs: unknown key; did you mean epochs?",
        "f.yaml:4:1  modl: unknown key; did you mean model?",
        "f.yaml:5:1  lr: unknown key; did you mean train.optimizer.lr?",
    ]


# B130
@pytest.mark.parametrize("key", ["data.train", "data.test"])
def test_a_text_where_a_list_is_wanted_is_one_data_set_and_not_its_letters(load, key):
    config = load("seed: 1", f"{key}=market1501")
    sets = config.data.train if key == "data.train" else config.data.test
    assert [one.name for one in sets] == ["market1501"]
    (only,) = load("data: {train: ('market1501')}").data.train
    assert only.name == "('market1501')", "the name of one set that is not there"


# B130
def test_a_text_where_numbers_are_wanted_is_refused(problems):
    (problem,) = problems("data: {image_size: '64'}")
    assert problem.startswith("f.yaml:1:8  data.image_size: ")
    assert "expected [height, width] in pixels" in problem


# B131
def test_two_blocks_of_one_name_are_an_error_with_both_lines(problems):
    assert problems("train: {epochs: 3}\nseed: 1\ntrain: {epochs: 4}\n") == [
        "f.yaml:3:1  train: key appears twice, first at f.yaml:1:1; remove one"
    ]
