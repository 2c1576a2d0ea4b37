from __future__ import annotations

from types import SimpleNamespace

import pytest

from reid_core.config.schema import Config
from reid_core.errors import ConfigError
from reid_plugin_hooks.early_stopping import EarlyStopping

TRAINER = SimpleNamespace(evaluators=[SimpleNamespace(name="first")], iter=5)


def feed(hook, values, name="first"):
    for value in values:
        TRAINER.iter += 1
        hook.after_eval(TRAINER, name, {"mAP": value, "rank1": 1 - value})


def test_it_stops_after_patience_evaluations_without_a_gain():
    hook = EarlyStopping(patience=2)
    feed(hook, [0.1, 0.2, 0.2])
    assert hook.should_stop() is None
    feed(hook, [0.15])
    assert hook.should_stop() == (
        "early stopping: mAP has not risen above 0.2000 for 2 evaluations"
    )


def test_a_gain_starts_the_count_anew():
    hook = EarlyStopping(patience=2)
    feed(hook, [0.2, 0.1, 0.3, 0.1])
    assert hook.should_stop() is None


def test_min_delta_and_monitor_count():
    hook = EarlyStopping(patience=1, min_delta=0.05)
    feed(hook, [0.2, 0.24])
    assert hook.should_stop() is not None
    hook = EarlyStopping(patience=1, monitor="rank1")
    feed(hook, [0.5, 0.4])
    assert hook.should_stop() is None, "rank1 rose"


def test_other_test_sets_and_the_untrained_model_do_not_count():
    hook = EarlyStopping(patience=1)
    feed(hook, [0.5, 0.1], name="second")
    untrained = SimpleNamespace(evaluators=TRAINER.evaluators, iter=0)
    hook.after_eval(untrained, "first", {"mAP": 0.9})
    feed(hook, [0.1])
    assert hook.should_stop() is None


def test_an_evaluation_that_is_done_again_counts_once():
    hook = EarlyStopping(patience=2)
    feed(hook, [0.5, 0.1])
    # The run was interrupted while it evaluated another set, and goes on with the first one.
    resumed = EarlyStopping(patience=2)
    resumed.load_state_dict(hook.state_dict())
    resumed.after_eval(TRAINER, "first", {"mAP": 0.1})
    assert resumed.should_stop() is None
    feed(resumed, [0.1])
    assert resumed.should_stop() is not None


def test_a_state_of_an_earlier_version_is_taken():
    hook = EarlyStopping(patience=2)
    hook.load_state_dict({"best": 0.5, "waited": 1})
    feed(hook, [0.1])
    assert "above 0.5000 for 2" in str(hook.should_stop())


def test_the_count_survives_a_resume():
    hook = EarlyStopping(patience=2)
    feed(hook, [0.5, 0.1])
    resumed = EarlyStopping(patience=2)
    resumed.load_state_dict(hook.state_dict())
    feed(resumed, [0.1])
    assert "above 0.5000 for 2" in str(resumed.should_stop())


def test_a_run_without_evaluations_is_a_config_problem():
    hook = EarlyStopping()
    assert hook.validate_config(Config()) == []
    off = Config.model_validate({"evaluate": {"every": 0}})
    assert "needs evaluations" in str(hook.validate_config(off)[0])


@pytest.mark.parametrize("parameters", [{"patience": 0}, {"min_delta": -1.0}])
def test_numbers_outside_their_range_are_refused(parameters):
    with pytest.raises(ConfigError, match="hook early_stopping"):
        EarlyStopping(**parameters)
