"""What a sampler must promise (B028, B030, B033, B036), and the seed of each sample."""

import numpy as np
import pytest
import torch

from reid_core.data.keys import EpochKeys, RowKeys, SampleKey
from reid_core.errors import PluginError


class ListSampler:
    """Yields whatever it was given, whatever it says its length is."""

    def __init__(self, batches, length=None):
        self.content = batches
        self.length = len(batches) if length is None else length

    def __len__(self):
        return self.length

    def batches(self, epoch):
        yield from self.content

    def summary(self):
        return "a list"


def keys(batches, *, length=None, seed=0, num_rows=10):
    return EpochKeys(ListSampler(batches, length), seed=seed, num_rows=num_rows)


def test_each_row_gets_a_key_with_its_own_seed():
    made = list(keys([[0, 0, 1], [2, 3, 0]]))
    assert [[key.row for key in batch] for batch in made] == [[0, 0, 1], [2, 3, 0]]
    seeds = [key.seed for batch in made for key in batch]
    assert len(set(seeds)) == 6
    assert all(type(key.row) is int and type(key.seed) is int for key in made[0])


def test_seeds_depend_on_seed_epoch_and_batch_alone():
    def seeds(seed, epoch, batches):
        made = keys(batches, seed=seed)
        made.epoch = epoch
        return [tuple(key.seed for key in batch) for batch in made]

    base = seeds(0, 0, [[0, 1], [2, 3]])
    assert seeds(0, 0, [[9, 9], [9, 9]]) == base
    for other in (seeds(1, 0, [[0, 1], [2, 3]]), seeds(0, 1, [[0, 1], [2, 3]])):
        assert not set(sum(base, ())) & set(sum(other, ()))


def test_starting_later_leaves_out_the_batches_before():
    made = keys([[0], [1], [2]])
    whole = list(made)
    made.start = 2
    assert len(made) == 1
    assert list(made) == whole[2:]
    made.start = 3
    assert list(made) == []


def test_an_epoch_under_way_is_not_changed_by_the_next_one():
    made = keys([[0], [1], [2]])
    whole = list(made)
    under_way = iter(made)
    first = next(under_way)
    made.epoch, made.start = 1, 2
    assert [first, *under_way] == whole


@pytest.mark.parametrize(
    "batch", [[1, 2], (1, 2), np.array([1, 2], dtype=np.int32), torch.tensor([1, 2])]
)
def test_a_batch_may_be_any_sequence_of_rows(batch):
    assert [key.row for key in next(iter(keys([batch])))] == [1, 2]


# B033: the conformance kit and reid-plugins check say it before a run, with the same words.
@pytest.mark.parametrize("batch", [5, np.int64(5), [], "ab", [1.5], [[1], [2]]])
def test_a_batch_that_is_no_sequence_of_rows_is_refused(batch):
    with pytest.raises(
        PluginError, match=r"sampler ListSampler of .* for batch 0 of epoch 0; .*not"
    ):
        list(keys([batch]))


# B030
@pytest.mark.parametrize("row", [-1, 10, 122])
def test_a_row_that_the_data_does_not_have_is_named(row):
    with pytest.raises(PluginError, match=f"gave row {row} in batch 1 of epoch 0; .* rows 0..9"):
        list(keys([[0, 1], [2, row]]))


@pytest.mark.parametrize("start", [0, 1, 3])
def test_fewer_batches_than_the_length_are_an_error(start):
    made = keys([[0], [1], [2]], length=5)
    made.start = start
    with pytest.raises(PluginError, match="gave 3 batches in epoch 0, not 5"):
        list(made)


def test_more_batches_than_the_length_are_an_error():
    with pytest.raises(PluginError, match="more than the 2 batches of its length"):
        list(keys([[0], [1], [2]], length=2))


@pytest.mark.parametrize(("rows", "size"), [(0, 4), (1, 4), (4, 4), (33, 32), (10, 3)])
def test_row_keys_are_all_rows_in_order(rows, size):
    made = RowKeys(rows, size)
    batches = list(made)
    assert [key for batch in batches for key in batch] == [SampleKey(r, 0) for r in range(rows)]
    assert len(batches) == len(made)
    assert all(len(batch) == size for batch in batches[:-1])


# B061: no row twice, none lost, and the batches that one process would have.
@pytest.mark.parametrize(("rows", "size", "ranks"), [(10, 1, 3), (10, 4, 3), (10, 3, 2), (2, 4, 3)])
def test_processes_share_whole_batches_in_turn(rows, size, ranks):
    whole = list(RowKeys(rows, size))
    shares = [RowKeys(rows, size, rank=rank, num_ranks=ranks) for rank in range(ranks)]
    for rank, share in enumerate(shares):
        assert list(share) == whole[rank::ranks]
        assert len(share) == len(whole[rank::ranks])
        assert share.rows.tolist() == [key.row for batch in whole[rank::ranks] for key in batch]
    together = np.concatenate([share.rows for share in shares])
    assert np.sort(together).tolist() == list(range(rows))
