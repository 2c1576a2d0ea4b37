"""What the constructors of schedules refuse."""

from __future__ import annotations

import pytest

from reid_core.errors import ConfigError
from reid_core.plugins.registries import SCHEDULES

CONTEXT = {"total_epochs": 10.0, "warmup_epochs": 0.0, "tick_epochs": 0.25, "base_lr": 0.1}


@pytest.mark.parametrize(
    ("schedule", "context", "message"),
    [
        ({"name": "multistep", "milestones": [3, 3]}, {}, "they must rise"),
        ({"name": "multistep", "milestones": [3], "gamma": -1}, {}, "expected more than 0"),
        ({"name": "cosine", "min_lr": 0.2}, {}, "min_lr is 0.2; expected 0 to the learning rate"),
        ({"name": "polynomial", "power": 0}, {}, "power is 0.0; expected more than 0"),
        ({"name": "polynomial", "min_lr": -1}, {}, "schedule polynomial: min_lr is -1.0"),
        ({"name": "exponential", "gamma": 0}, {}, "gamma is 0.0; expected more than 0"),
        ({"name": "exponential"}, {}, "required parameter 'gamma' is missing"),
        ({"name": "one_cycle", "rise": 1.0}, {}, "rise is 1.0; expected 0 < rise < 1"),
        ({"name": "one_cycle", "div_factor": 0.5}, {}, "div_factor is 0.5; expected at least 1"),
        ({"name": "one_cycle"}, {"warmup_epochs": 1.0}, "a rise of its own; remove the warm-up"),
        ({"name": "one_cycle", "rise": 0.02}, {}, "holds fewer than two values"),
        ({"name": "one_cycle", "shape": "cubic"}, {}, "'cosine' or 'linear'"),
    ],
)
def test_a_parameter_outside_its_range_is_refused(schedule, context, message):
    with pytest.raises(ConfigError, match=message):
        SCHEDULES.build(schedule, **{**CONTEXT, **context})
