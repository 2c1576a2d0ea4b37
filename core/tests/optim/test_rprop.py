from __future__ import annotations

import torch
from torch import nn

from reid_core.optim.rprop import Rprop


def run(make, decay_by_hand=0.0):
    torch.manual_seed(0)
    parameter = nn.Parameter(torch.randn(6))
    optimizer = make([{"params": [parameter]}])
    for step in range(5):
        parameter.grad = torch.sin(parameter.detach() * 7 + step)
        parameter.grad += decay_by_hand * parameter.detach()
        optimizer.step()
    return parameter.detach()


def test_without_weight_decay_it_is_torchs():
    assert torch.equal(run(lambda p: Rprop(p, lr=0.1)), run(lambda p: torch.optim.Rprop(p, lr=0.1)))


def test_weight_decay_adds_the_weights_to_the_gradient():
    expected = run(lambda p: torch.optim.Rprop(p, lr=0.1), decay_by_hand=0.7)
    assert torch.equal(run(lambda p: Rprop(p, lr=0.1, weight_decay=0.7)), expected)
    assert not torch.equal(run(lambda p: Rprop(p, lr=0.1)), expected)
