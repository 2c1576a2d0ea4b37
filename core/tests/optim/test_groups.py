from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError
from reid_core.optim import build_optimizer
from reid_core.optim.groups import describe_groups, is_norm, own_groups


def settings_by_name(model, **settings):
    """Return (lr, weight decay) of every parameter that is trained, by its name."""
    optimizer = build_optimizer(OptimizerConfig(name="sgd", **settings), model)
    of = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    return {n: of[id(p)] for n, p in model.named_parameters() if id(p) in of}


def fastreid(model, *, lr, decay, norm_decay, bias_factor, bias_decay, heads_factor):
    """FastReID's rule, a parameter at a time: the norm's decay, then the bias's, then the head."""
    norms = (nn.BatchNorm1d, nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)
    found = {}
    for module_name, module in model.named_modules():
        for key, _ in module.named_parameters(recurse=False):
            name = f"{module_name}.{key}"
            rate, weight_decay = lr, decay
            if isinstance(module, norms):
                weight_decay = norm_decay
            if key == "bias":
                rate, weight_decay = lr * bias_factor, bias_decay
            if not name.startswith("backbone."):
                rate *= heads_factor
            found[name] = (rate, weight_decay)
    return found


CHOICES = list(itertools.product((0.0, 5e-4), (1.0, 2.0), (0.0, 5e-4, 1e-3), (1.0, 10.0)))


@pytest.mark.parametrize(("norm_decay", "bias_factor", "bias_decay", "heads_factor"), CHOICES)
def test_rates_and_decays_are_those_of_fastreids_rule(
    model, norm_decay, bias_factor, bias_decay, heads_factor
):
    got = settings_by_name(
        model,
        lr=0.1,
        weight_decay=5e-4,
        norm_weight_decay=norm_decay,
        bias_lr_factor=bias_factor,
        bias_weight_decay=bias_decay,
        head_lr_factor=heads_factor,
    )
    expected = fastreid(
        model,
        lr=0.1,
        decay=5e-4,
        norm_decay=norm_decay,
        bias_factor=bias_factor,
        bias_decay=bias_decay,
        heads_factor=heads_factor,
    )
    expected["losses.0.centers"] = (0.5, 0.0)
    assert got == {name: pytest.approx(pair) for name, pair in expected.items()}


def test_by_default_there_is_one_group_in_the_order_of_the_model(model):
    optimizer = build_optimizer(OptimizerConfig(lr=0.1), model)
    first, own = optimizer.param_groups
    wanted = [p for n, p in model.named_parameters() if n != "losses.0.centers"]
    assert all(map(torch.equal, first["params"], wanted))
    assert first["name"] == "lr x1, decay 0.0005"
    assert own["name"] == "losses.0"


def test_without_a_rule_of_their_own_biases_decay_as_the_rest_of_their_module(model):
    got = settings_by_name(model, lr=0.1, weight_decay=1e-3, norm_weight_decay=0.0)
    assert got["neck.bias"] == got["neck.weight"] == (0.1, 0.0)
    assert got["classifier.bias"] == got["classifier.weight"] == (0.1, 1e-3)


def test_parameters_with_the_same_rate_and_decay_share_a_group(model):
    config = OptimizerConfig(lr=0.1, bias_lr_factor=2, head_lr_factor=2)
    groups = build_optimizer(config, model).param_groups
    assert [group["name"] for group in groups] == [
        "lr x1, decay 0.0005",
        "lr x2, decay 0.0005",
        "lr x4, decay 0.0005",
        "losses.0",
    ]
    assert [group["initial_lr"] for group in groups] == pytest.approx([0.1, 0.2, 0.4, 0.5])


def test_a_model_may_say_which_of_its_parts_are_the_backbone():
    class Split(nn.Module):
        backbone_parts = ("trunk", "branches.0")

        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(2, 2, bias=False)
            self.branches = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(11))

    got = settings_by_name(Split(), lr=0.1, head_lr_factor=3)
    inside = {"trunk.weight", "branches.0.weight"}
    assert {name for name, (lr, _) in got.items() if lr == pytest.approx(0.1)} == inside


def test_a_head_factor_without_a_backbone_is_refused():
    with pytest.raises(ConfigError, match="Linear has no part called backbone"):
        settings_by_name(nn.Linear(2, 2), head_lr_factor=2)


def test_frozen_parameters_are_in_no_group_not_even_in_one_of_a_loss(model):
    model.losses[0].centers.requires_grad_(False)
    assert own_groups(model) == []
    got = settings_by_name(model, frozen=["backbone.stem*"])
    assert not any(name.startswith("backbone.stem") for name in got)
    assert "backbone.block.0.weight" in got


def test_a_group_of_a_loss_may_give_its_rate_as_a_factor():
    class Proxies(nn.Module):
        def __init__(self):
            super().__init__()
            self.proxies = nn.Parameter(torch.zeros(3))

        def parameter_groups(self):
            return [{"params": [self.proxies], "lr_factor": 100.0, "weight_decay": 0.0}]

    optimizer = build_optimizer(OptimizerConfig(lr=0.01), Proxies())
    (group,) = optimizer.param_groups
    assert (group["lr"], group["weight_decay"]) == (pytest.approx(1.0), 0.0)
    assert "lr_factor" not in group


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.SyncBatchNorm(2), True),
        (nn.InstanceNorm2d(2, affine=True), True),
        (nn.LayerNorm(2), True),
        (nn.RMSNorm(2), True),
        (nn.Linear(2, 2), False),
        (nn.Sequential(nn.BatchNorm1d(2)), False),
    ],
)
def test_normalisation_layers_are_known(module, expected):
    assert is_norm(module) is expected


def test_a_norm_of_another_package_is_known_by_its_name():
    class RmsNorm2d(nn.Module):
        pass

    assert is_norm(RmsNorm2d())


def test_the_table_has_a_line_for_each_group(model):
    optimizer = build_optimizer(OptimizerConfig(lr=0.1, bias_lr_factor=2), model)
    head, *lines = describe_groups(optimizer.param_groups)
    assert head.split() == ["group", "tensors", "parameters", "lr", "weight", "decay"]
    cells = [line.split() for line in lines]
    assert [row[-4:] for row in cells] == [
        ["6", "157", "0.1", "0.0005"],
        ["6", "26", "0.2", "0.0005"],
        ["1", "15", "0.5", "0"],
    ]
