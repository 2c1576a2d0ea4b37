import copy

import pytest
import torch
from pytorch_metric_learning import losses, miners

from reid_core.errors import ConfigError
from reid_plugin_pml.build import build
from reid_plugin_pml.memory import RememberingLoss
from reid_plugin_pml.mining import CountingMiner

DIM, ROWS = 8, 12


def batches(count):
    generator = torch.Generator().manual_seed(3)
    return [
        (torch.randn(ROWS, DIM, generator=generator), torch.arange(ROWS) // 4 + step)
        for step in range(count)
    ]


def remembering(size=30, *, with_miner=False):
    miner = CountingMiner(build("miners", "PairMarginMiner", {})) if with_miner else None
    loss = build("losses", "ContrastiveLoss", {})
    return RememberingLoss(loss=loss, embedding_size=DIM, size=size, miner=miner)


@pytest.mark.parametrize("with_miner", [False, True])
def test_values_are_those_of_the_library_over_more_batches_than_it_holds(with_miner) -> None:
    miner = miners.PairMarginMiner() if with_miner else None
    theirs = losses.CrossBatchMemory(losses.ContrastiveLoss(), DIM, memory_size=30, miner=miner)
    ours = remembering(with_miner=with_miner)
    for embeddings, labels in batches(7):
        assert ours(embeddings, labels).item() == theirs(embeddings, labels).item()


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_a_loss_that_was_saved_goes_on_as_if_it_had_not_been(steps) -> None:
    first, resumed = remembering(), remembering()
    *before, last = batches(steps + 1)
    for embeddings, labels in before:
        first(embeddings, labels)
    resumed.load_state_dict(copy.deepcopy(first.state_dict()))
    for embeddings, labels in (last, *batches(2)):
        assert resumed(embeddings, labels).item() == first(embeddings, labels).item()


def test_buffers_that_are_put_back_take_the_memory_back() -> None:
    first, disturbed = remembering(), remembering()
    *before, last = batches(4)
    for embeddings, labels in before:
        first(embeddings, labels)
        disturbed(embeddings, labels)
    former = [buffer.clone() for buffer in disturbed.buffers()]
    disturbed(*batches(1)[0])
    for buffer, value in zip(disturbed.buffers(), former, strict=True):
        buffer.copy_(value)
    for embeddings, labels in (last, *batches(2)):
        assert disturbed(embeddings, labels).item() == first(embeddings, labels).item()


def test_an_earlier_batch_counts() -> None:
    (first, of_first), (second, of_second), *_ = batches(2)
    fresh, ours = remembering(), remembering()
    ours(first, of_first)
    assert ours(second, of_second).item() != fresh(second, of_second).item()


def test_a_batch_larger_than_the_memory_is_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match="memory is 10, less than a batch of 12; set it to at"):
        remembering(10)(*batches(1)[0])


def test_a_loss_that_cannot_compare_with_others_is_refused() -> None:
    loss = build("losses", "ProxyAnchorLoss", {"num_classes": 3, "embedding_size": DIM})
    with pytest.raises(
        ConfigError, match=r"ProxyAnchorLoss cannot compare .* one of .*TripletMargin"
    ):
        RememberingLoss(loss=loss, embedding_size=DIM, size=10, miner=None)
