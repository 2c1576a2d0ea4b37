from __future__ import annotations

import pytest
import torch
from timm.optim import create_optimizer_v2, get_optimizer_info, list_optimizers
from timm.scheduler import CosineLRScheduler
from torch import nn

from reid_core.config.components import OptimizerConfig, ScheduleConfig
from reid_core.errors import ConfigError
from reid_core.optim import LearningRate, build_optimizer

BUILT_IN = [
    name
    for name in list_optimizers()
    if not isinstance(get_optimizer_info(name).opt_class, str)
    and not get_optimizer_info(name).second_order
]


def problem():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6, bias=False), nn.Linear(6, 3, bias=False))


def trained(model, optimizer, steps=3):
    inputs = torch.linspace(-1, 1, 32).reshape(8, 4)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(inputs) - 1).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


# Its updates draw from Python's generator, seeded in the constructor.
@pytest.mark.parametrize("name", [name for name in BUILT_IN if not name.startswith("kron")])
def test_every_name_trains_as_timm_itself_does_with_it(name):
    ours, theirs = problem(), problem()
    config = OptimizerConfig(name="timm", optimizer=name, lr=0.01, weight_decay=0.1)
    got = trained(ours, build_optimizer(config, ours))
    groups = [{"params": list(theirs.parameters())}]
    reference = create_optimizer_v2(groups, opt=name, lr=0.01, weight_decay=0.1)
    for value, wanted, start in zip(
        got, trained(theirs, reference), problem().parameters(), strict=True
    ):
        assert torch.equal(value, wanted)
        assert not torch.equal(value, start)


def test_settings_reach_the_optimizer_and_groups_keep_their_own():
    model = nn.Linear(2, 3)
    config = OptimizerConfig(
        name="timm",
        optimizer="clamb",
        lr=0.1,
        bias_lr_factor=2,
        settings={"betas": [0.5, 0.6], "max_grad_norm": 3},
    )
    optimizer = build_optimizer(config, model)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.2]
    for group in optimizer.param_groups:
        assert (group["betas"], group["max_grad_norm"], group["caution"]) == ((0.5, 0.6), 3, True)


def test_the_lookahead_goes_around_any_of_them():
    config = OptimizerConfig(name="timm", optimizer="lookahead_adamw", lr=0.1)
    assert type(build_optimizer(config, nn.Linear(2, 2))).__name__ == "Lookahead"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "lamp"}, r"timm has no optimizer 'lamp'; did you mean lamb\? \(known: "),
        ({"optimizer": "adahessian"}, "adahessian needs second derivatives"),
        ({"optimizer": "fusedadam"}, "fusedadam cannot be used here: "),
        ({}, "required parameter 'optimizer' is missing"),
        (
            {"optimizer": "lamb", "settings": {"beats": [0.9, 0.99]}},
            r"settings.beats of lamb: unknown parameter; did you mean betas\?",
        ),
        (
            {"optimizer": "lamb", "settings": {"lr": 0.1}},
            "settings.lr of lamb: is set by the trainer",
        ),
        (
            {"optimizer": "lamb", "settings": {"betas": "many"}},
            "settings.betas of lamb: ",
        ),
    ],
)
def test_a_wrong_name_or_setting_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        build_optimizer(OptimizerConfig(name="timm", **settings), nn.Linear(2, 2))


@pytest.mark.parametrize(
    "name",
    ["adabelief", "adamp", "adan", "adopt", "lamb", "laprop", "lars", "lion", "mars", "nadamw",
     "novograd", "rmsproptf", "sgdp", "sgdw", "adafactorbv"],
)  # fmt: skip
def test_the_usual_ones_have_names_of_their_own_with_typed_parameters(name):
    model = problem()
    optimizer = build_optimizer(OptimizerConfig(name=name, lr=0.01), model)
    assert type(optimizer) is get_optimizer_info(name).opt_class
    before = [parameter.detach().clone() for parameter in model.parameters()]
    assert not any(map(torch.equal, trained(model, optimizer), before))
    with pytest.raises(ConfigError, match=f"optimizer {name}: nonsense: unknown parameter"):
        build_optimizer(OptimizerConfig(name=name, nonsense=1), model)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("warmup", [0, 5])
@pytest.mark.parametrize("prefix", [False, True])
def test_our_cosine_gives_the_rates_of_timms_scheduler(first, warmup, prefix):
    lr, epochs, steps = 0.008, 40, 2
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)
    total = epochs - warmup if prefix else epochs
    scheduler = CosineLRScheduler(
        optimizer,
        t_initial=total,
        lr_min=0.002 * lr,
        warmup_t=warmup,
        warmup_lr_init=0.01 * lr,
        warmup_prefix=prefix,
    )
    expected = []
    for epoch in range(epochs):
        scheduler.step(epoch + first)
        expected += [optimizer.param_groups[0]["lr"]] * steps
    config = ScheduleConfig.model_validate(
        {
            "name": "cosine",
            "min_lr": 0.002 * lr,
            "granularity": "epoch",
            "counting": "from_start" if prefix else "through_warmup",
            "first_epoch": first,
            "warmup": {"epochs": warmup, "factor": 0.01} if warmup else None,
        }
    )
    rate = LearningRate.from_config(
        config, OptimizerConfig(lr=lr), epochs=epochs, iters_per_epoch=steps
    )
    got = [lr * rate.factor(step) for step in range(epochs * steps)]
    assert got == pytest.approx(expected, rel=1e-6)
