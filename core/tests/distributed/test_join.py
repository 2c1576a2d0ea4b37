"""Which device each of several processes takes."""

import pytest
import torch

from reid_core.distributed.join import joined_processes
from reid_core.errors import ConfigError, UsageError


@pytest.fixture
def second_of_two(monkeypatch):
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


# B113: the device is known before the processes meet.
def test_one_gpu_for_several_processes_is_refused(second_of_two):
    with (
        pytest.raises(ConfigError, match="CUDA_VISIBLE_DEVICES chooses GPUs") as caught,
        joined_processes(device="cuda:1"),
    ):
        pass
    assert "device is 'cuda:1'" in str(caught.value)


def test_more_processes_than_gpus_are_refused(second_of_two, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    with (
        pytest.raises(ConfigError, match="--nproc-per-node 1 at most") as caught,
        joined_processes(backend="auto"),
    ):
        pass
    assert "process 1 of this machine has no GPU of its own: 1 can be used" in str(caught.value)


@pytest.mark.parametrize(
    ("rank", "count", "told"),
    [
        ("5", "2", "RANK is 5 and WORLD_SIZE is 2; expected RANK from 0 to WORLD_SIZE - 1"),
        ("0", "0", "RANK is 0 and WORLD_SIZE is 0; expected RANK from 0"),
        ("0", "two", "WORLD_SIZE is 'two'; expected whole numbers"),
        ("x", "2", "WORLD_SIZE is '2' and RANK is 'x'; expected whole numbers"),
    ],
)
def test_a_rank_outside_of_the_job_is_told_and_not_waited_for(monkeypatch, rank, count, told):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", count)
    with pytest.raises(UsageError) as caught, joined_processes():
        pass
    assert str(caught.value).startswith(told)
