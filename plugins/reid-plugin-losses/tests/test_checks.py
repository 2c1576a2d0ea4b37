import pytest

from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice, require_number


def test_a_wrong_choice_is_answered_with_the_choices_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        require_choice("mining", "hrad", ["hard"])
    assert str(caught.value) == "mining: got 'hrad', expected one of hard; did you mean hard?"


def test_a_right_choice_passes() -> None:
    require_choice("mining", "hard", ["hard"])


@pytest.mark.parametrize(
    ("got", "limits", "expected"),
    [
        (0.0, {"above": 0}, "above 0"),
        (-0.1, {"at_least": 0, "below": 1}, "at least 0 and below 1"),
        (1.0, {"at_least": 0, "below": 1}, "at least 0 and below 1"),
        (1.5, {"at_least": 0, "at_most": 1}, "at least 0 and at most 1"),
        (float("nan"), {"at_least": 0}, "at least 0"),
        (float("inf"), {}, "a finite number"),
    ],
)
def test_a_number_out_of_its_range_is_answered_with_the_range(got, limits, expected) -> None:
    with pytest.raises(ConfigError) as caught:
        require_number("circle: margin", got, **limits, example=0.25)
    assert str(caught.value) == f"circle: margin: got {got}, expected {expected}, for example 0.25"


@pytest.mark.parametrize("got", [0.0, 0.5, 1.0])
def test_a_number_in_its_range_passes(got: float) -> None:
    require_number("ratio", got, at_least=0, at_most=1, example=0.3)
