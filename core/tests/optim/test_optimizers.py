from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError
from reid_core.optim import build_optimizer


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
