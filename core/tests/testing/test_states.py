import math
from pathlib import Path

import pytest
import torch

from reid_core.testing.states import first_difference, through_a_file


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"a": 1}, {"a": 2}, "state['a'] was 1, now 2"),
        ({"a": 1}, {"a": 1.0}, "state['a'] was 1, now 1.0"),
        ({"a": 1}, {}, "state['a'] is there only before"),
        ({}, {"a": 1}, "state['a'] is there only after"),
        ([1, 2], [1], "state had 2 entries, now 1"),
        ([1, [2, 3]], [1, [2, 4]], "state[1][1] was 3, now 4"),
        (math.nan, math.nan, ""),
        ((), {}, "state was (), now {}"),
    ],
)
def test_the_first_difference_is_named(left: object, right: object, expected: str) -> None:
    assert first_difference(left, right) == expected


def test_tensors_are_compared_by_shape_type_and_numbers() -> None:
    ones = torch.ones(2)
    assert first_difference({"t": ones}, {"t": torch.ones(2)}) == ""
    assert first_difference(ones / 0 - ones / 0, ones / 0 - ones / 0) == ""
    for other in (torch.ones(3), torch.ones(2).double(), torch.zeros(2)):
        assert first_difference({"t": ones}, {"t": other}) == "state['t'] is another tensor"


def test_a_state_goes_through_a_file_without_running_code() -> None:
    assert first_difference({"a": torch.ones(2)}, through_a_file({"a": torch.ones(2)})) == ""
    with pytest.raises(Exception, match=r"weights_only|WeightsUnpickler"):
        through_a_file({"a": Path()})
