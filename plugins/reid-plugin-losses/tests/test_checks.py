import pytest

from reid_core.errors import ConfigError
from reid_plugin_losses.checks import require_choice


def test_a_wrong_choice_is_answered_with_the_choices_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        require_choice("mining", "hrad", ["hard"])
    assert str(caught.value) == "mining: got 'hrad', expected one of hard; did you mean hard?"


def test_a_right_choice_passes() -> None:
    require_choice("mining", "hard", ["hard"])
