from __future__ import annotations

from reid_core.config import Config
from reid_core.config.problems import dotted
from reid_core.config.uses import uses_of


def everything() -> Config:
    return Config.model_validate(
        {
            "model": {
                "name": "m",
                "backbone": "b",
                "head": {"name": "h"},
                "losses": ["one", {"name": "dist/two"}],
            },
            "data": {
                "train": ["d", "e"],
                "test": "f",
                "batch": {"sampler": "s"},
                "transforms": ["t", "u"],
            },
            "train": {"optimizer": "o", "schedule": "c"},
            "evaluate": {"protocol": "p"},
            "hooks": ["x", {"name": "y", "id": "z"}],
            "default_hooks": ["w"],
        }
    )


def test_every_component_is_named_with_its_kind_and_place() -> None:
    assert [(use.kind, use.name, dotted(use.path)) for use in uses_of(everything())] == [
        ("models", "m", "model"),
        ("backbones", "b", "model.backbone"),
        ("heads", "h", "model.head"),
        ("losses", "one", "model.losses.0"),
        ("losses", "dist/two", "model.losses.1"),
        ("datasets", "d", "data.train.0"),
        ("datasets", "e", "data.train.1"),
        ("datasets", "f", "data.test.0"),
        ("samplers", "s", "data.batch"),
        ("transforms", "t", "data.transforms.0"),
        ("transforms", "u", "data.transforms.1"),
        ("optimizers", "o", "train.optimizer"),
        ("schedules", "c", "train.schedule"),
        ("protocols", "p", "evaluate.protocol"),
        ("hooks", "x", "hooks.0"),
        ("hooks", "y", "hooks.1"),
        ("hooks", "w", "default_hooks.0"),
    ]


def test_each_is_called_with_its_own_parameters() -> None:
    config = Config.model_validate(
        {
            "model": {"losses": [{"name": "one", "weight": 2.0, "margin": 0.3}]},
            "train": {"optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9}},
            "hooks": [{"name": "x", "id": "y", "on_error": "raise", "every": 3}],
        }
    )
    calls = {use.kind: use.call for use in uses_of(config) if use.path[0] != "default_hooks"}
    assert calls["losses"] == {"name": "one", "margin": 0.3}
    assert calls["hooks"] == {"name": "x", "every": 3}
    optimizer = {"name": "sgd", "lr": 0.1, "weight_decay": 5e-4, "momentum": 0.9}
    assert calls["optimizers"] == optimizer
