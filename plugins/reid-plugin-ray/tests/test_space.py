"""What a space may say, and what is wrong with one that says something else."""

from __future__ import annotations

import pytest

from reid_core.errors import ConfigError
from reid_plugin_ray.tuning.space import read_space, space_from_plain


@pytest.fixture
def space(tmp_path):
    def read(text):
        path = tmp_path / "space.yaml"
        path.write_text(text, encoding="utf-8")
        return read_space(path)

    return read


def test_every_distribution_is_read(space):
    read = space(
        "optimizer.lr: {loguniform: [1e-5, 1e-2]}\n"
        "train.epochs: {randint: [2, 5]}\n"
        "seed: {grid: [0, 1, 2]}\n"
        "model.losses.0.weight: {uniform: [0, 1]}\n"
        "train.precision: {choice: [fp32, bf16]}\n"
    )
    assert read.plain == {
        "train.optimizer.lr": {"loguniform": [1e-5, 1e-2]},
        "train.epochs": {"randint": [2, 5]},
        "seed": {"grid": [0, 1, 2]},
        "model.losses.0.weight": {"uniform": [0.0, 1.0]},
        "train.precision": {"choice": ["fp32", "bf16"]},
    }
    assert read.grid_size == 3
    assert space_from_plain(read.plain, source="sweep.json").plain == read.plain


def test_a_whole_number_is_never_drawn_above_its_range(space):
    assert space("train.epochs: {randint: [2, 5]}").distributions[0].probes == (2, 4)


def test_a_range_is_tried_between_its_ends_too(space):
    low, inside, high = space("train.epochs: {uniform: [1, 5]}").distributions[0].probes
    assert low < inside < high
    assert not inside.is_integer()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a space is a mapping"),
        ("[1, 2]", "a space is a mapping"),
        ("seed: 3", "expected one distribution, such as {loguniform: [1e-5, 1e-2]}"),
        ("seed: {chioce: [1]}", "unknown distribution 'chioce'; did you mean choice?"),
        ("seed: {choice: 3}", "choice takes a list, got 3"),
        ("seed: {choice: []}", "choice is empty"),
        ("seed: {grid: [1, 1]}", "grid has 1 twice"),
        ("seed: {uniform: [1, 2, 3]}", "uniform takes two numbers, [low, high], got [1, 2, 3]"),
        ("seed: {uniform: [a, b]}", "uniform takes two numbers"),
        ("seed: {uniform: [true, 2]}", "uniform takes two numbers"),
        ("seed: {uniform: [2, 1]}", "uniform goes from 2 to 1; low < high"),
        ("seed: {uniform: [0, .inf]}", "low < high"),
        ("seed: {loguniform: [0, 1]}", "loguniform begins at 0; expected above 0"),
        ("seed: {randint: [0, 1.5]}", "randint takes whole numbers, got [0, 1.5]"),
        (
            "optimizer.lr: {uniform: [0.1, 1]}\ntrain.optimizer: {choice: [sgd, adam]}",
            "it is set by train.optimizer.lr",
        ),
    ],
)
def test_a_wrong_space_is_told_with_its_place(space, text, told):
    with pytest.raises(ConfigError) as caught:
        space(text)
    assert told in str(caught.value)
    assert "space.yaml:1" in str(caught.value)


def test_all_problems_are_told_at_once(space):
    with pytest.raises(ConfigError) as caught:
        space("seed: {choice: []}\ntrain.epochs: {uniform: [2, 1]}")
    assert str(caught.value).count("\n") == 1


def test_a_space_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"--space .* cannot be read: .*No such file"):
        read_space(tmp_path / "none.yaml")
