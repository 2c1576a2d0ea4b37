from __future__ import annotations

import pytest

from reid_core.data.splitting.rule import SplitRule
from reid_core.errors import ConfigError


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"test": 0}, "--test 0: expected a share between 0 and 1, or a whole number"),
        ({"test": 1.5}, "--test 1.5: expected a share"),
        ({"test": float("inf")}, "--test inf: expected a share"),
        ({"test": float("nan")}, "--test nan: expected a share"),
        ({"query": 0}, "--query 0: expected at least 1"),
        ({"open_set": 1.0}, "--open-set 1: expected from 0 to less than 1"),
        ({"cameras": ("1",)}, "--cameras belongs to --by camera; got --by identity"),
        ({"by": "time", "mix_times": True}, "--mix-times and --by time contradict each other"),
    ],
)
def test_values_that_cannot_be_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SplitRule(**parameters)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("test", "available", "expected"), [(0.3, 10, 3), (0.3, 1, 1), (0.01, 10, 1), (4, 10, 4)]
)
def test_test_is_a_share_or_a_number(test: float, available: int, expected: int) -> None:
    assert SplitRule(test=test).number(available) == expected
