"""``train.gradient_checkpointing`` reaches the backbone, or is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from reid_core.config import load_config
from reid_core.contracts import ReidModel
from reid_core.errors import ConfigError
from reid_core.models.build import build_model
from reid_core.plugins.registries import BACKBONES, MODELS
from reid_core.testing.batches import tiny_reid_batch


class Blocks(nn.Module):
    """Two convolutions, whose activations can be computed again."""

    feature_dim = 8

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 5, stride=4)
        self.second = nn.Conv2d(8, 8, 3)
        self.is_checkpointed = False

    def set_grad_checkpointing(self, enable=True):
        self.is_checkpointed = enable

    def forward(self, images):
        if self.is_checkpointed and torch.is_grad_enabled():
            return checkpoint(self._blocks, images, use_reentrant=False)
        return self._blocks(images)

    def _blocks(self, images):
        return self.second(self.first(images).tanh()).tanh()


class Alone(ReidModel):
    """A model without a backbone of its own name."""

    def __init__(self, *, losses=()):
        super().__init__()
        self.is_checkpointed = False

    def set_grad_checkpointing(self, enable=True):
        self.is_checkpointed = enable


@pytest.fixture
def build(tiny_recipe):
    BACKBONES.register(Blocks, name="blocks")
    MODELS.register(Alone, name="alone")

    def build(*, num_classes=4, **settings):
        plain = {"train.gradient_checkpointing": True}
        plain |= {key.replace("__", "."): value for key, value in settings.items()}
        if "model.backbone" not in plain:
            plain.setdefault("model.backbone.name", "blocks")
        torch.manual_seed(0)
        return build_model(load_config(tiny_recipe, plain), num_classes=num_classes)

    yield build
    BACKBONES.unregister("blocks")
    MODELS.unregister("alone")


def gradients(model):
    sum(model(tiny_reid_batch()).losses.values()).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def test_gradients_are_the_same(build):
    again, kept = build(), build(train__gradient_checkpointing=False)
    assert again.backbone.is_checkpointed
    assert not kept.backbone.is_checkpointed
    expected = gradients(kept)
    for name, gradient in gradients(again).items():
        assert torch.equal(gradient, expected[name]), name


def test_a_model_that_only_embeds_is_left_alone(build):
    assert not build(num_classes=None).backbone.is_checkpointed


def test_a_model_without_a_backbone_does_it_itself(build):
    model = build(model__name="alone", model__backbone=None, model__head=None)
    assert model.is_checkpointed


def test_a_backbone_without_it_is_refused(build):
    with pytest.raises(
        ConfigError,
        match=r"train.gradient_checkpointing: backbone tiny_backbone \(.*\) does not offer it \(no "
        r"method set_grad_checkpointing\); set train.gradient_checkpointing=false, or save memory",
    ):
        build(model__backbone__name="tiny_backbone")
