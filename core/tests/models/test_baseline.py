from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config import load_config
from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError, PluginError
from reid_core.models import Baseline, WeightedLoss
from reid_core.models.build import build_model
from reid_core.plugins.registries import BACKBONES, MODELS


def batch(size=6):
    torch.manual_seed(0)
    return Batch(
        images=torch.randn(size, 3, 32, 16),
        pids=torch.arange(size) % 3,
        camids=torch.zeros(size, dtype=torch.int64),
        index=torch.arange(size),
    )


class Head(nn.Module):
    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        return HeadOutput(pooled, {"global": pooled}, {"a": pooled, "b": -pooled})


class Squares(nn.Module):
    dtype = None

    def forward(self, output, batch):
        self.dtype = output.features["global"].dtype
        return (output.features["global"] @ output.features["global"].T).square().mean()

    def metrics(self):
        return {"seen": torch.tensor(3.0)}


def test_losses_are_weighted_named_and_measured():
    loss = Squares()
    model = Baseline(
        backbone=nn.Conv2d(3, 3, 3),
        head=Head(),
        losses=[WeightedLoss("one", loss, 1.0), WeightedLoss("half", Squares(), 0.5)],
    )
    output = model(batch())
    assert output.losses["half"].item() == pytest.approx(0.5 * output.losses["one"].item())
    assert output.metrics["one/seen"].item() == 3.0
    assert 0 <= output.metrics["accuracy"].item() <= 1
    model.eval()
    assert model(batch()).shape == (6, 3)


def test_losses_run_in_float32_under_autocast():
    loss = Squares()
    model = Baseline(backbone=nn.Conv2d(3, 3, 3), head=Head(), losses=[WeightedLoss("loss", loss)])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(batch())
    assert loss.dtype == torch.float32
    assert output.losses["loss"].dtype == torch.float32


def test_a_model_for_embedding_has_neither_classifier_nor_losses(tiny_recipe):
    config = load_config(tiny_recipe)
    full, slim = build_model(config, num_classes=9), build_model(config, num_classes=None)
    extra = set(full.state_dict()) - set(slim.state_dict())
    assert extra == {"head.classifier.weight", "head.classifier.bias"}
    slim.load_state_dict({k: v for k, v in full.state_dict().items() if k not in extra})
    full.eval()
    slim.eval()
    images = batch().images
    assert torch.equal(full.embed(images), slim.embed(images))


def test_two_losses_of_one_name_are_told_apart(tiny_recipe):
    config = load_config(
        tiny_recipe, {"model.losses": [{"name": "tiny_loss"}, {"name": "tiny_loss", "weight": 2}]}
    )
    losses = build_model(config, num_classes=3)(batch()).losses
    assert losses["tiny_loss_2"].item() == pytest.approx(2 * losses["tiny_loss"].item())


def test_missing_parts_and_broken_contracts_are_named(tiny_recipe):
    def build(**overrides):
        build_model(load_config(tiny_recipe, overrides), num_classes=3)

    with pytest.raises(ConfigError, match=r"model.losses is empty"):
        build(**{"model.losses": []})
    with pytest.raises(ConfigError, match=r"model.head is set but model.backbone is not"):
        build(**{"model.backbone": None})
    BACKBONES.register(lambda: nn.Conv2d(3, 3, 3), name="no_dim")
    BACKBONES.register(lambda: "text", name="no_module")
    MODELS.register(lambda: nn.Linear(1, 1), name="no_model")
    try:
        with pytest.raises(PluginError, match="backbone no_dim has feature_dim None"):
            build(**{"model.backbone": "no_dim"})
        with pytest.raises(PluginError, match=r"backbone no_module gave a str"):
            build(**{"model.backbone": "no_module"})
        with pytest.raises(PluginError, match=r"gave a Linear; expected .*ReidModel"):
            build(**{"model.name": "no_model", "model.backbone": None, "model.head": None})
    finally:
        for registry, name in (
            (BACKBONES, "no_dim"),
            (BACKBONES, "no_module"),
            (MODELS, "no_model"),
        ):
            registry._local.pop(name)
