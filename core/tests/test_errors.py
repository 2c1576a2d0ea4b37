from __future__ import annotations

import pytest

from reid_core import errors
from reid_core.errors import ReidError, did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ReidError", 1),
        ("UsageError", 2),
        ("ConfigError", 2),
        ("DataError", 3),
        ("PluginError", 4),
        ("CheckpointError", 1),
        ("TrainingError", 1),
    ],
)
def test_each_error_has_its_exit_code(name: str, code: int) -> None:
    error = getattr(errors, name)
    assert issubclass(error, ReidError)
    assert error.exit_code == code


def test_the_nearest_spelling_is_named() -> None:
    assert did_you_mean("osnet_x10", ["resnet50", "osnet_x1_0"]) == "; did you mean osnet_x1_0?"


def test_nothing_is_named_when_nothing_is_near() -> None:
    assert did_you_mean("osnet", ["adam", "sgd"]) == ""
    assert did_you_mean("osnet", []) == ""


def test_upper_and_lower_case_count_the_same_and_the_known_spelling_is_given() -> None:
    assert nearest("ADAM", ["adam", "sgd"]) == "adam"
    assert nearest("mydata", iter(["MyData"])) == "MyData"
