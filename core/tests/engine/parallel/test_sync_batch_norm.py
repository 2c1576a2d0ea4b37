"""Synchronised batch normalisation: what it is in one process, and what stays as it was."""

import copy
import pickle

import pytest
import torch
from torch import nn

from reid_core.engine.parallel.sync_batch_norm import Synchronised, synchronise_batch_norm


class Activated(nn.BatchNorm2d):
    """A batch normalisation that does something besides, as some networks have."""

    def forward(self, input):  # noqa: A002 — torch's word
        return super().forward(input).relu()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 1), Activated(4))


@pytest.fixture
def alone(tmp_path):
    """A process group of this process alone, in which everything is summed over one."""
    store = (tmp_path / "rendezvous").as_uri()
    torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_names_and_tensors_stay_the_same(alone):
    model = network()
    before = {name: value.data_ptr() for name, value in model.state_dict().items()}
    assert synchronise_batch_norm(model) == 2
    assert {name: value.data_ptr() for name, value in model.state_dict().items()} == before
    assert [type(m).__name__ for m in model] == ["Conv2d", "BatchNorm2d", "Conv2d", "Activated"]
    assert synchronise_batch_norm(model) == 2, "twice is once"
    assert type(model[1]).__mro__.count(Synchronised) == 1


@pytest.mark.parametrize("momentum", [0.1, None, 0.9])
def test_values_gradients_and_statistics_are_those_of_torch(alone, momentum):
    plain, synchronised = network(), network()
    synchronise_batch_norm(synchronised)
    for model in (plain, synchronised):
        model[1].momentum = momentum
    images = torch.randn(6, 3, 7, 5, generator=torch.Generator().manual_seed(1)) + 3
    for _ in range(3):
        outputs = []
        for model in (plain, synchronised):
            model.zero_grad()
            made = model(images)
            (made * torch.linspace(-1, 1, made.numel()).view_as(made)).sum().backward()
            outputs.append(made)
        torch.testing.assert_close(*outputs, rtol=1e-5, atol=1e-6)
    for (name, own), other in zip(plain.named_parameters(), synchronised.parameters(), strict=True):
        # The gradient of a bias before a normalisation is 0 but for rounding.
        torch.testing.assert_close(own.grad, other.grad, rtol=1e-4, atol=1e-4, msg=name)
    torch.testing.assert_close(plain.state_dict(), synchronised.state_dict())


def test_in_evaluation_mode_it_is_torchs_own_bit_by_bit(alone):
    plain, synchronised = network().eval(), network().eval()
    synchronise_batch_norm(synchronised)
    images = torch.randn(2, 3, 7, 5)
    assert torch.equal(plain(images), synchronised(images))


def test_low_precision_goes_in_and_comes_out(alone):
    norm = nn.Sequential(nn.BatchNorm1d(4))
    synchronise_batch_norm(norm)
    made = norm(torch.randn(8, 4).bfloat16())
    assert made.dtype == torch.bfloat16


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_is_one_of_its_own(alone, copied):
    model = network()
    synchronise_batch_norm(model)
    other = copied(model)
    assert all(isinstance(other[place], Synchronised) for place in (1, 3))
    images = torch.randn(4, 3, 7, 5)
    assert torch.equal(model(images), other(images))
    other(images)
    assert not torch.equal(model[1].running_mean, other[1].running_mean)
