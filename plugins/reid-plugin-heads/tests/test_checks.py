import pytest

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice, require_positive


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
