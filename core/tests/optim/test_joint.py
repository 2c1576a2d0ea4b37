from __future__ import annotations

import copy

import pytest
import torch

from reid_core.optim.joint import JointOptimizer


def parameters():
    return [torch.nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2)]


def optimizers(first, second):
    return [torch.optim.Adam([first], lr=0.1), torch.optim.SGD([second], lr=0.5)]


def give_gradients(params, step):
    for number, parameter in enumerate(params):
        parameter.grad = torch.tensor([0.3, -0.1]) * (step + 1) + number


def test_members_move_their_parameters_as_they_would_alone():
    together, apart = parameters(), parameters()
    joint, alone = JointOptimizer(optimizers(*together)), optimizers(*apart)
    for step in range(3):
        give_gradients(together, step)
        give_gradients(apart, step)
        joint.step()
        for optimizer in alone:
            optimizer.step()
    for one, other in zip(together, apart, strict=True):
        assert torch.equal(one, other)


def test_a_rate_that_is_changed_here_is_changed_there():
    params = parameters()
    joint = JointOptimizer(optimizers(*params))
    joint.param_groups[1]["lr"] = 0.0
    give_gradients(params, 0)
    joint.step()
    assert params[1].tolist() == [1.0, -2.0]
    assert params[0].tolist() != [1.0, -2.0]
    joint.zero_grad()
    assert params[0].grad is None


def test_a_loaded_state_goes_on_bitwise_and_shares_its_groups():
    params = parameters()
    joint = JointOptimizer(optimizers(*params))
    give_gradients(params, 0)
    joint.step()
    copies = [torch.nn.Parameter(p.detach().clone()) for p in params]
    resumed = JointOptimizer(optimizers(*copies))
    resumed.load_state_dict(copy.deepcopy(joint.state_dict()))
    for group in resumed.param_groups:
        group["lr"] *= 0.5
    for group in joint.param_groups:
        group["lr"] *= 0.5
    give_gradients(params, 1)
    give_gradients(copies, 1)
    joint.step()
    resumed.step()
    for one, other in zip(params, copies, strict=True):
        assert torch.equal(one, other)


def test_the_state_of_other_optimizers_is_refused():
    first, second = parameters()
    joint = JointOptimizer(optimizers(first, second))
    with pytest.raises(ValueError, match="one of 1 optimizers, here are 2"):
        joint.load_state_dict(torch.optim.Adam([first]).state_dict())
