"""The recipe of the best trial is that trial's configuration, whatever was drawn."""

from __future__ import annotations

import pytest
import yaml

from reid_core.config import load_config
from reid_plugin_ray.tune_command import _paths
from reid_plugin_ray.tuning.best import write_best
from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.trial_config import config_with


def request(recipe, overrides=()):
    return SweepRequest(
        source=str(recipe),
        settings=_paths(overrides),
        config=load_config(recipe, overrides).plain(),
        space={},
        metric="mAP",
        mode="max",
        samples=1,
        seed=0,
        scheduler="none",
        grace=1,
        concurrent=None,
        cpus=1,
        gpus=0,
        folder="/",
        restarts=0,
    )


@pytest.mark.parametrize(
    ("overrides", "values"),
    [
        ((), {"train.optimizer.lr": 8.144886973076103e-04}),
        ((), {"model.losses.1.margin": 0.25, "model.losses.0.weight": 0.5, "seed": 3}),
        (("optimizer.weight_decay=0.1", "epochs=5"), {"train.optimizer.lr": 1e-3}),
        (("data.batch={identities: 2, instances: 2}",), {"data.batch.instances": 3}),
        ((), {"train.optimizer": {"name": "sgd", "momentum": 0.5}}),
        (("train.optimizer={name: sgd, momentum: 0.9}",), {"train.optimizer.momentum": 0.1}),
        (("hooks=[{name: early_stopping}]",), {"hooks.0.patience": 2}),
    ],
)
def test_the_recipe_of_the_best_trial_gives_its_configuration(recipe, tmp_path, overrides, values):
    sweep = request(recipe, overrides)
    path = tmp_path / "best.yaml"
    write_best(path, sweep, values)
    expected = config_with(sweep.config, values, source="test").plain()
    assert load_config(path).plain() == expected
    assert expected != load_config(recipe).plain()


def test_it_extends_the_recipe_of_the_sweep_and_says_nothing_else(recipe, tmp_path):
    path = tmp_path / "best.yaml"
    write_best(path, request(recipe), {"train.optimizer.lr": 0.001})
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written == {"extends": str(recipe), "train": {"optimizer": {"lr": 0.001}}}
