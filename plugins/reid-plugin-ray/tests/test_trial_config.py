"""A space is tried in the configuration before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.config import load_config
from reid_core.errors import ConfigError
from reid_plugin_ray.tuning.space import space_from_plain
from reid_plugin_ray.tuning.trial import TrialJob, trial_config
from reid_plugin_ray.tuning.trial_config import check_space, config_with


def problem(recipe, space):
    with pytest.raises(ConfigError) as caught:
        check_space(load_config(recipe), space_from_plain(space, source="space.yaml"))
    return str(caught.value)


def test_a_space_that_fits_is_accepted(recipe):
    space = {
        "train.optimizer.lr": {"loguniform": [1e-5, 1e-2]},
        "train.optimizer": {"choice": ["adam", {"name": "sgd", "momentum": 0.9}]},
        "model.losses.1.margin": {"uniform": [0.1, 0.5]},
        "train.epochs": {"randint": [1, 4]},
    }
    del space["train.optimizer"]
    check_space(load_config(recipe), space_from_plain(space, source="space.yaml"))


def test_whole_components_can_be_drawn(recipe):
    space = {"train.optimizer": {"choice": ["adam", {"name": "sgd", "momentum": 0.9}]}}
    check_space(load_config(recipe), space_from_plain(space, source="space.yaml"))


@pytest.mark.parametrize(
    ("path", "distribution", "told"),
    [
        ("train.optimizer.lrr", {"uniform": [0, 1]}, "did you mean lr"),
        ("train.epocs", {"grid": [1]}, "did you mean"),
        ("model.losses.1.margn", {"uniform": [0, 1]}, "did you mean margin"),
        ("model.losses.7.weight", {"uniform": [0, 1]}, "7 is no position of the list"),
        ("train.epochs", {"uniform": [1, 5]}, "train.epochs"),
        ("train.precision", {"choice": ["fp32", "fp64"]}, "(tried with 'fp64')"),
        ("train.optimizer", {"choice": ["adam", "sdg"]}, "sdg"),
        ("evaluate.every", {"grid": [1, 0]}, "a trial without evaluations reports nothing"),
        ("output", {"grid": ["a", "b"]}, "this cannot be drawn"),
        ("plugins.disable", {"grid": [["*"]]}, "this cannot be drawn"),
    ],
)
def test_a_setting_that_cannot_work_is_told(recipe, path, distribution, told):
    message = problem(recipe, {path: distribution})
    assert told in message
    assert message.startswith("space.yaml")
    assert "--set" not in message


def test_all_problems_of_a_space_are_told(recipe):
    space = {"train.epocs": {"grid": [1]}, "train.optimizer.lrr": {"uniform": [0, 1]}}
    assert problem(recipe, space).count("\n") == 1


def test_numbers_reach_a_trial_bit_by_bit(recipe):
    base = load_config(recipe).plain()
    for number in (1 / 3, 1e-5, 8.144886973076103e-04, 5e-324):
        config = config_with(base, {"train.optimizer.weight_decay": number}, source="test")
        assert config.train.optimizer.weight_decay == number


def job(recipe, **changes):
    given = {"output": "/s", "folder": "/", "gpus": 0.0, "plugin_files": ()}
    return TrialJob(config=load_config(recipe, {"device": "auto"}).plain(), **{**given, **changes})


def test_a_trial_has_its_folder_its_settings_and_the_hook_that_reports(recipe):
    config = trial_config({"seed": 4}, job(recipe), Path("/s/runs/trial_00001"))
    assert config.output == "/s/runs/trial_00001"
    assert config.seed == 4
    assert [hook.name for hook in config.hooks][-1] == "reid-plugin-ray/ray_tune"


def test_a_trial_without_a_gpu_runs_on_the_cpu(recipe):
    assert trial_config({}, job(recipe), Path("/s/r")).device == "cpu"
    assert trial_config({}, job(recipe, gpus=0.5), Path("/s/r")).device == "auto"
