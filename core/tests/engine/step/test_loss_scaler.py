from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.errors import TrainingError

CPU = torch.device("cpu")


def step(scaler, parameter, optimizer, factor=1.0):
    optimizer.zero_grad()
    scaler.backward(factor * parameter.square().sum(), optimizer)
    return scaler.step(optimizer)


def problem():
    parameter = nn.Parameter(torch.tensor([1.0, -2.0]))
    return parameter, torch.optim.SGD([parameter], lr=0.1, momentum=0.9)


def test_gradients_are_those_of_the_loss_as_it_is():
    parameter, optimizer = problem()
    scaler = LossScaler(CPU, scale=65536.0)
    scaler.backward(parameter.square().sum(), optimizer)
    assert parameter.grad.tolist() == [2.0, -4.0]
    assert scaler.step(optimizer)
    assert parameter.tolist() == pytest.approx([0.8, -1.6])
    assert scaler.scale == 65536.0


def test_a_step_without_finite_gradients_changes_nothing_but_the_scale():
    parameter, optimizer = problem()
    scaler = LossScaler(CPU, scale=1024.0)
    assert step(scaler, parameter, optimizer)
    weights = parameter.detach().clone()
    momentum = optimizer.state[parameter]["momentum_buffer"].clone()
    assert not step(scaler, parameter, optimizer, factor=float("inf"))
    assert torch.equal(parameter.detach(), weights)
    assert torch.equal(optimizer.state[parameter]["momentum_buffer"], momentum)
    assert scaler.scale == 512.0
    assert step(scaler, parameter, optimizer)
    assert scaler.scale == 512.0


def test_it_goes_on_from_its_state():
    parameter, optimizer = problem()
    scaler = LossScaler(CPU)
    step(scaler, parameter, optimizer, factor=float("nan"))
    other = LossScaler(CPU)
    other.load_state_dict(scaler.state_dict())
    assert other.scale == scaler.scale == 32768.0
    assert step(other, parameter, optimizer)
    assert other.state_dict() == {**scaler.state_dict(), "_growth_tracker": 1}


def test_a_loss_that_no_scale_can_save_ends_the_run():
    parameter, optimizer = problem()
    scaler = LossScaler(CPU, scale=4.0)
    # Halved each time: the 27th time it would be below 2 ** -24.
    for _ in range(26):
        step(scaler, parameter, optimizer, factor=float("nan"))
    with pytest.raises(TrainingError, match=r"at whatever scale .* the loss itself is not finite"):
        step(scaler, parameter, optimizer, factor=float("nan"))
