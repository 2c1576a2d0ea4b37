from __future__ import annotations

import pytest

from reid_core.config.nodes import Origin
from reid_core.config.problems import ConfigProblem, dotted, raise_problems
from reid_core.errors import ConfigError


def test_a_problem_reads_as_place_path_and_message() -> None:
    origin = Origin("f.yaml", 3, 5)
    assert str(ConfigProblem("train.lr", "is wrong", origin)) == "f.yaml:3:5  train.lr: is wrong"
    assert str(ConfigProblem("train.lr", "is wrong")) == "train.lr: is wrong"
    assert str(ConfigProblem("", "is wrong", Origin("--set x=1"))) == "--set x=1  is wrong"


def test_problems_are_told_in_the_order_of_the_file_and_those_without_a_place_last() -> None:
    problems = [
        ConfigProblem("d", "no place"),
        ConfigProblem("c", "late", Origin("f.yaml", 10, 1)),
        ConfigProblem("b", "early", Origin("f.yaml", 9, 7)),
        ConfigProblem("a", "earlier", Origin("f.yaml", 9, 2)),
    ]
    with pytest.raises(ConfigError) as raised:
        raise_problems(problems)
    assert [line.partition(":")[0] for line in str(raised.value).splitlines()[-1:]] == ["d"]
    assert [line.split()[1] for line in str(raised.value).splitlines()[:-1]] == ["a:", "b:", "c:"]


def test_no_problem_raises_nothing() -> None:
    raise_problems([])


def test_a_path_is_spelled_as_one_types_it() -> None:
    assert dotted(("model", "losses", 0, "margin")) == "model.losses.0.margin"
