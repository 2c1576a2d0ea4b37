from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.contracts import HeadOutput
from reid_core.engine import DefaultTrainer
from reid_core.errors import PluginError
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES


class Fails(nn.Module):
    feature_dim = embedding_dim = 8

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1)

    def forward(self, *arguments):
        return self._deeper({"global": 1})

    def _deeper(self, features):
        return features["feat"]


@pytest.mark.parametrize(
    ("registry", "name", "place"),
    [
        (BACKBONES, "tiny_backbone", "backbone"),
        (HEADS, "tiny_head", "head"),
        (LOSSES, "tiny_loss", "losses.0"),
    ],
)
def test_the_part_that_raised_is_named(registry, name, place, tiny_config, monkeypatch):
    monkeypatch.setitem(registry._local, name, lambda **context: Fails())
    trainer = DefaultTrainer(tiny_config)
    with pytest.raises(KeyError, match="feat") as caught:
        trainer.train()
    assert caught.value.__notes__ == [f"raised by {place} of the model, Fails (module {__name__})"]


def test_a_backbone_that_gives_a_list_is_named(tiny_config, monkeypatch):
    class Pyramid(Fails):
        def forward(self, images):
            return [images]

    monkeypatch.setitem(BACKBONES._local, "tiny_backbone", Pyramid)
    with pytest.raises(PluginError, match=r"backbone Pyramid \(module .*\) gave a list; expected"):
        DefaultTrainer(tiny_config).train()


def with_loss(config, monkeypatch, value, metrics=None):
    class Mine(nn.Module):
        def forward(self, output: HeadOutput, batch):
            return value(output.features["global"])

        def metrics(self):
            return metrics or {}

    monkeypatch.setitem(LOSSES._local, "tiny_loss", Mine)
    DefaultTrainer(config).train(0, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x: (x.mean(), 1), "gave a tuple; expected a scalar tensor"),
        (lambda x: x.mean().item(), "gave a float; expected a scalar tensor"),
        (lambda x: x.detach().mean(), r"has no gradient, .*look for detach\(\)"),
    ],
)
def test_a_loss_that_cannot_be_minimised_is_named(value, message, tiny_config, monkeypatch):
    with pytest.raises(PluginError, match=rf"loss tiny_loss \(module .*\) {message}"):
        with_loss(tiny_config, monkeypatch, value)


def test_a_loss_that_is_zero_on_purpose_is_fine(tiny_config, monkeypatch):
    with_loss(tiny_config, monkeypatch, lambda x: x.sum() * 0)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"distance": 1.0}, "gave 'distance' as float"),
        ({"distance": None}, "gave 'distance' as NoneType"),
        ({"distance": torch.ones(2)}, r"gave 'distance' as \(2,\)"),
        ([1], "gave 'something' as list"),
    ],
)
def test_metrics_of_a_loss_are_scalar_tensors(metrics, message, tiny_config, monkeypatch):
    with pytest.raises(PluginError, match=rf"loss tiny_loss \(.*\): metrics\(\) {message}"):
        with_loss(tiny_config, monkeypatch, lambda x: x.mean(), metrics)
