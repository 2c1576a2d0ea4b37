import torch

from reid_plugin_losses.memory import FeatureMemory


def push(memory: FeatureMemory, first: int, rows: int) -> None:
    index = torch.arange(first, first + rows)
    memory.push(index.float().unsqueeze(1).repeat(1, 2), index % 3, index)


def test_indices_stay_in_range_and_the_last_ones_stay() -> None:  # B085
    memory = FeatureMemory(8, 2)
    assert memory.is_filled.sum() == 0
    for step in range(7):
        push(memory, 4 * step, 4)
        newest = list(range(max(0, 4 * step - 4), 4 * step + 4))
        assert sorted(memory.index[memory.is_filled].tolist()) == newest
        assert torch.equal(memory.features[memory.is_filled, 0].long(), memory.index[: len(newest)])
        assert torch.equal(memory.pids[memory.is_filled], memory.index[: len(newest)] % 3)


def test_a_size_that_is_no_multiple_of_the_batch_keeps_the_newest() -> None:
    memory = FeatureMemory(5, 2)
    for step in range(6):
        push(memory, 3 * step, 3)
    assert sorted(memory.index.tolist()) == [13, 14, 15, 16, 17]


def test_of_a_batch_above_its_size_the_last_rows_stay() -> None:
    memory = FeatureMemory(3, 2)
    push(memory, 0, 7)
    assert sorted(memory.index.tolist()) == [4, 5, 6]
    push(memory, 7, 1)
    assert sorted(memory.index.tolist()) == [5, 6, 7]
