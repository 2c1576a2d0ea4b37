import pytest

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import (
    require_above,
    require_choice,
    require_positive,
    require_within,
)


def test_a_wrong_choice_is_answered_with_the_choices_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        require_choice("test_feature", "befor", ["before", "after"])
    assert str(caught.value) == (
        "test_feature: got 'befor', expected one of before, after; did you mean before?"
    )


def test_a_count_below_one_is_named() -> None:
    with pytest.raises(ConfigError, match="embedding_dim: got 0, expected at least 1"):
        require_positive("embedding_dim", 0)


def test_right_values_pass() -> None:
    require_choice("test_feature", "after", ["before", "after"])
    require_positive("embedding_dim", 1)
    require_above("scale", 1e-9, 0.0)
    require_within("dropout", 0.0, 0.0, 1.0)
    require_within("dropout", 1.0, 0.0, 1.0)


@pytest.mark.parametrize("got", [0.0, -1.0, float("inf"), float("nan")])
def test_a_number_that_is_not_above_the_bound_is_named(got: float) -> None:
    with pytest.raises(ConfigError, match=f"scale: got {got}, expected a number above 0"):
        require_above("scale", got, 0.0)


@pytest.mark.parametrize("got", [-0.1, 1.1, float("nan")])
def test_a_number_outside_of_a_range_is_named(got: float) -> None:
    with pytest.raises(ConfigError, match=f"dropout: got {got}, expected 0 to 1"):
        require_within("dropout", got, 0.0, 1.0)
