from types import SimpleNamespace

import torch

from reid_core.hooks.lr_schedule import LrSchedule


def test_a_group_that_is_not_scheduled_keeps_its_rate():
    groups = [
        {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.2},
        {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.5, "is_scheduled": False},
    ]
    optimizer = torch.optim.SGD(groups)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    halved = SimpleNamespace(factor=lambda step, skipped_steps: 0.5)
    trainer = SimpleNamespace(optimizer=optimizer, learning_rate=halved, skipped_steps=0)
    LrSchedule().before_step(trainer, 3)
    LrSchedule().before_step(trainer, 4)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
