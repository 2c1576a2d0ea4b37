from __future__ import annotations

import pytest

from reid_core.errors import ConfigError
from reid_core.optim.schedules.base import Progress, floor_of


@pytest.mark.parametrize(
    ("epoch", "expected"), [(-1.0, 0.0), (2.0, 0.0), (3.0, 0.25), (6.0, 1.0), (99.0, 1.0)]
)
def test_progress_is_a_straight_line_between_its_ends(epoch, expected):
    assert Progress(2.0, 6.0).at(epoch) == expected


def test_a_fall_without_length_is_a_drop():
    drop = Progress(4.0, 4.0)
    assert (drop.at(3.9), drop.at(4.0)) == (0.0, 1.0)


def test_the_floor_is_a_share_of_the_rate_and_never_above_it():
    assert floor_of("cosine", 0.01, 0.1) == pytest.approx(0.1)
    for min_lr in (-0.1, 0.2):
        with pytest.raises(ConfigError, match=r"schedule cosine: min_lr is .*; expected 0 to"):
            floor_of("cosine", min_lr, 0.1)
