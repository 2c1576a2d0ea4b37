from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError, PluginError
from reid_core.optim import build_optimizer
from reid_core.plugins.registries import OPTIMIZERS


class WithCenters(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.loss = self.Centers()

    class Centers(nn.Module):
        def __init__(self):
            super().__init__()
            self.centers = nn.Parameter(torch.zeros(3, 2))

        def parameter_groups(self):
            return [{"params": [self.centers], "lr": 0.5, "weight_decay": 0.0}]


def test_settings_reach_the_optimizer():
    model = nn.Linear(2, 2)
    config = OptimizerConfig(name="sgd", lr=0.1, weight_decay=0.01, momentum=0.9, nesterov=True)
    optimizer = build_optimizer(config, model)
    assert isinstance(optimizer, torch.optim.SGD)
    group = optimizer.param_groups[0]
    assert (group["lr"], group["initial_lr"], group["weight_decay"]) == (0.1, 0.1, 0.01)
    assert (group["momentum"], group["nesterov"]) == (0.9, True)


def test_frozen_parameters_are_left_out():
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    optimizer = build_optimizer(OptimizerConfig(name="adamw"), model)
    assert [p.shape for p in optimizer.param_groups[0]["params"]] == [(2, 2)]


def test_a_module_hands_over_its_own_groups_and_is_not_trained_twice():
    model = WithCenters()
    optimizer = build_optimizer(OptimizerConfig(lr=0.1), model)
    assert [len(group["params"]) for group in optimizer.param_groups] == [2, 1]
    assert optimizer.param_groups[1]["initial_lr"] == 0.5


def test_a_model_without_trainable_parameters_and_unknown_settings_are_refused():
    model = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(ConfigError, match="no parameter that can be trained"):
        build_optimizer(OptimizerConfig(), model)
    with pytest.raises(ConfigError, match="optimizer adam: momentum: unknown parameter"):
        build_optimizer(OptimizerConfig(momentum=0.9), nn.Linear(2, 2))


@pytest.mark.parametrize(
    "name",
    [
        "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam",
        "rmsprop", "rprop", "sgd",
    ],
)  # fmt: skip
def test_every_optimizer_of_torch_trains_groups_of_its_own_by_its_name(name):
    model = WithCenters()
    optimizer = build_optimizer(OptimizerConfig(name=name, lr=0.01, bias_lr_factor=2), model)
    assert type(optimizer).__name__.lower() == name
    assert isinstance(optimizer, torch.optim.Optimizer)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.01, 0.02, 0.5])
    before = model.layer.weight.detach().clone()
    model.layer(torch.ones(3, 2)).square().sum().backward()
    optimizer.step()
    assert not torch.equal(before, model.layer.weight)


def test_no_optimizer_of_torch_is_missing():
    classes = {
        name.lower()
        for name, one in vars(torch.optim).items()
        if isinstance(one, type) and issubclass(one, torch.optim.Optimizer)
    }
    left_out = {"optimizer", "lbfgs", "sparseadam"}
    assert classes - left_out <= set(OPTIMIZERS.names())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("lbfgs", "computes the loss several times in a step"),
        ("LBFGS", "computes the loss several times in a step"),
        ("sparseadam", "takes sparse gradients only"),
        ("adahessian", "needs second derivatives"),
    ],
)
def test_an_optimizer_that_cannot_work_is_refused_with_the_reason(name, reason):
    with pytest.raises(PluginError, match=f"unknown optimizer '{name}'; .*{reason}"):
        build_optimizer(OptimizerConfig(name=name), nn.Linear(2, 2))


def test_a_value_that_torch_refuses_is_a_mistake_in_the_configuration():
    config = OptimizerConfig(name="sgd", nesterov=True)
    with pytest.raises(ConfigError, match="optimizer sgd: Nesterov momentum requires a momentum"):
        build_optimizer(config, nn.Linear(2, 2))
