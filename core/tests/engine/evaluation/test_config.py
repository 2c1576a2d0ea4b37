"""Evaluation needs less than training: what only training names may be missing."""

from reid_core.config.load import config_from_plain
from reid_core.config.uses import uses_of
from reid_core.engine.evaluation.config import evaluation_config


def config(**changes):
    plain = {
        "model": {"losses": [{"name": "gone_loss"}]},
        "data": {
            "train": [{"name": "gone_set"}, {"name": "synthetic"}],
            "test": [{"name": "synthetic"}],
            "transforms": [{"name": "gone_transform"}],
            "batch": {"sampler": "gone_sampler"},
        },
        "train": {
            "optimizer": {"name": "gone_optimizer"},
            "schedule": {"name": "gone_schedule"},
        },
        "evaluate": {"protocol": "no_camera", "rerank": ["k_reciprocal"]},
        "hooks": ["gone_hook"],
        **changes,
    }
    return config_from_plain(plain, source="a test")


def test_only_what_makes_embeddings_and_figures_is_kept():
    kept = evaluation_config(config())
    names = [use.name for use in uses_of(kept)]
    assert not [name for name in names if name.startswith("gone_")]
    assert {"baseline", "synthetic", "no_camera", "k_reciprocal"} <= set(names)
    assert [one.name for one in kept.data.train] == ["synthetic"]


def test_test_sets_that_are_those_of_training_stay():
    data = {"train": [{"name": "synthetic"}, {"name": "csv", "file": "a.csv"}]}
    kept = evaluation_config(config(data=data))
    assert [one.name for one in kept.data.test_sets] == ["synthetic", "csv"]


def test_requirements_on_packages_that_nothing_comes_from_are_left_out():
    kept = evaluation_config(config(plugins={"require": ["reid-gone>=2", "reid-core>=0.0.1"]}))
    assert kept.plugins.require == ["reid-core>=0.0.1"]
