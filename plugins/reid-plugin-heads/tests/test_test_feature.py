"""The side of the neck that is compared can be changed after training, and is stated."""

import json

import pytest
import torch
from click.testing import CliRunner

from reid_core.cli import evaluate
from reid_core.config import Config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.weights import config_of_weights, load_model
from reid_core.engine.record.weights_info import find_weights
from reid_core.plugins.registries import BACKBONES, LOSSES
from reid_core.testing import write_tiny_market
from reid_core.testing.tiny_model import TinyBackbone, TinyLoss
from reid_plugin_heads.bnneck import BNNeckHead


@pytest.fixture
def run_folder(tmp_path):
    BACKBONES.register(TinyBackbone, name="small_backbone")
    LOSSES.register(TinyLoss, name="small_loss")
    config = Config.model_validate(
        {
            "seed": 1,
            "model": {
                "backbone": {"name": "small_backbone"},
                "head": {"name": "bnneck"},
                "losses": [{"name": "small_loss"}],
            },
            "data": {
                "train": [{"name": "market1501", "root": str(write_tiny_market(tmp_path / "set"))}],
                "image_size": [32, 16],
                "batch": {"sampler": "identity", "identities": 3, "instances": 4},
                "workers": 0,
            },
            "train": {"epochs": 2, "schedule": {"name": "constant"}},
            "evaluate": {"distance": "euclidean"},
            "output": str(tmp_path / "run"),
        }
    )
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train()
    yield tmp_path / "run"
    BACKBONES._local.pop("small_backbone")
    LOSSES._local.pop("small_loss")


def evaluated(run_folder, *options):
    found = CliRunner().invoke(
        evaluate.main, ["--checkpoint", str(run_folder), "--json", *options], catch_exceptions=False
    )
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["evaluations"][0]


def test_trained_weights_are_evaluated_before_or_after_the_neck(run_folder):
    before = evaluated(run_folder, "--set", "model.head.test_feature=before")
    after = evaluated(run_folder)
    assert (before["test_feature"], after["test_feature"]) == ("before", "after")
    assert before["metrics"] != after["metrics"]

    weights = find_weights(run_folder)
    images = torch.rand(3, 3, 32, 16, generator=torch.Generator().manual_seed(0))
    sides = {}
    for side in ("before", "after"):
        config = config_of_weights(weights, [f"model.head.test_feature={side}"])
        model = load_model(config, weights)
        with torch.no_grad():
            sides[side] = model.embed(images)
            head = model.head
            assert isinstance(head, BNNeckHead)
            pooled = head.pooling(model.backbone(images))
            expected = pooled if side == "before" else head.bottleneck(pooled)
        torch.testing.assert_close(sides[side], expected)
    assert not torch.allclose(sides["before"], sides["after"])
