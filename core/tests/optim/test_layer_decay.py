from __future__ import annotations

import pytest
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError, PluginError
from reid_core.optim.groups import parameter_groups
from reid_core.optim.layer_decay import layer_factors


def test_each_layer_learns_slower_than_the_next_and_the_head_at_the_full_rate(model):
    factors = layer_factors(model, 0.5)
    assert factors["backbone.block.0.weight"] == 0.5
    assert factors["backbone.stem_norm.bias"] == 0.25
    assert not any(name.startswith(("neck", "classifier")) for name in factors)


def test_the_factor_multiplies_those_of_biases_and_of_the_head(model):
    config = OptimizerConfig(lr=1.0, layer_decay=0.5, bias_lr_factor=2, head_lr_factor=3)
    rates = {
        id(parameter): group["lr"]
        for group in parameter_groups(config, model)
        for parameter in group["params"]
    }
    got = {name: rates[id(p)] for name, p in model.named_parameters()}
    assert got["backbone.stem.weight"] == pytest.approx(0.25)
    assert got["backbone.stem.bias"] == pytest.approx(0.5)
    assert got["backbone.block.1.weight"] == pytest.approx(0.5)
    assert got["classifier.weight"] == pytest.approx(3)
    assert got["classifier.bias"] == pytest.approx(6)


def test_a_backbone_without_layers_is_refused(model):
    model.backbone = nn.Linear(2, 2)
    with pytest.raises(ConfigError, match="Linear does not say which layer comes after which"):
        layer_factors(model, 0.5)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["stem.weight"]], "leaves out 7 of its 8 parameters: block.0.bias, block.0.weight"),
        ([["stem.wieght"]], "stem.wieght are none of its 8 parameters"),
        ([["stem.weight"], ["stem.weight"]], "stem.weight are there twice of its 8 parameters"),
    ],
)
def test_layers_that_do_not_fit_the_parameters_are_refused(model, groups, message):
    model.backbone.layer_groups = lambda: groups
    with pytest.raises(PluginError, match=message):
        layer_factors(model, 0.5)


def test_a_model_may_know_its_layers_itself():
    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(2, 2, bias=False)
            self.head = nn.Linear(2, 2, bias=False)

        def layer_groups(self):
            return [["trunk.weight"]]

    assert layer_factors(Split(), 0.3) == {"trunk.weight": 0.3}
