"""Where two states differ."""

import pytest
import torch

from reid_core.engine.reproducing.compare_states import find_difference

NAN = float("nan")


@pytest.mark.parametrize(
    "state",
    [
        {"a": [1, (2.0, "x"), None], "b": {0: torch.arange(3)}},
        {"a": torch.tensor([NAN, 1.0]), "b": NAN, "c": torch.tensor(2)},
        {"a": torch.empty(0), "b": [], "c": torch.ones(2, dtype=torch.bool)},
    ],
)
def test_a_state_is_equal_to_itself(state):
    assert find_difference(state, state) is None


@pytest.mark.parametrize(
    ("left", "right", "place"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b.1"),
        ({"a": [1]}, {"a": [1, 2]}, "a"),
        ({"a": 1}, {}, "a"),
        ({}, {"b": {"c": 1}}, "b"),
        ({"a": torch.ones(2)}, {"a": torch.ones(3)}, "a"),
        ({"a": torch.ones(2)}, {"a": torch.ones(2, dtype=torch.float64)}, "a"),
        ({"a": torch.tensor([1.0, NAN])}, {"a": torch.tensor([1.0, 2.0])}, "a"),
        ({"a": torch.ones(2)}, {"a": [1.0, 1.0]}, "a"),
        ({"a": "12"}, {"a": ["1", "2"]}, "a"),
    ],
)
def test_the_first_difference_is_named_by_its_place(left, right, place):
    assert find_difference(left, right) == place
