"""B035: the parts of several processes are those of one batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.data.samplers import EpochSampler, ShardedSampler
from reid_core.data.samplers.balanced_identity import BalancedIdentitySampler
from reid_core.data.samplers.identity import IdentitySampler
from reid_core.data.samplers.random import RandomSampler
from reid_core.errors import ConfigError

LABELS = np.random.default_rng(7).permutation(np.repeat(np.arange(20), 8))


def whole(*, seed=0, labels=LABELS, **keywords):
    return IdentitySampler(labels=labels, seed=seed, **keywords)


def parts(world, **keywords):
    """The samplers of all processes; each builds its own from the same seed."""
    return [ShardedSampler(whole(**keywords), rank, world) for rank in range(world)]


# B035
def test_two_processes_have_eight_different_identities_and_no_image_twice():
    first, second = parts(2, identities=8, instances=4)
    steps = list(zip(first.batches(0), second.batches(0), strict=True))
    assert len(steps) == len(first) == len(second) == 5
    for pair in steps:
        for part in pair:
            pids, counts = np.unique(LABELS[part], return_counts=True)
            assert counts.tolist() == [4] * 4, "a process has whole identities"
            assert len(pids) == 4
        rows = np.concatenate(pair)
        assert len(set(rows.tolist())) == 32
        assert len(set(LABELS[rows])) == 8


# B035
def test_another_epoch_changes_the_order_and_the_seed_reproduces_it():
    def epoch_of(seed, epoch):
        (_, second) = parts(2, identities=8, instances=4, seed=seed)
        return np.concatenate(list(second.batches(epoch))).tolist()

    assert epoch_of(0, 0) != epoch_of(0, 1)
    assert epoch_of(0, 0) != epoch_of(1, 0)
    assert epoch_of(0, 1) == epoch_of(0, 1)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 15), min_size=12, max_size=20),
    world=st.integers(1, 4),
    each=st.integers(1, 3),
    instances=st.integers(1, 4),
    rule=st.sampled_from(["all_images", "one_group"]),
    epoch=st.integers(0, 99),
)
def test_together_they_are_the_batches_of_the_whole(counts, world, each, instances, rule, epoch):
    if world * each < 2:
        return
    keywords = {
        "labels": np.repeat(np.arange(len(counts)), counts),
        "identities": world * each,
        "instances": instances,
        "rule": rule,
    }
    dealt = zip(*(part.batches(epoch) for part in parts(world, **keywords)), strict=True)
    expected = list(whole(**keywords).batches(epoch))
    for batch, of_step in zip(expected, dealt, strict=True):
        assert {len(part) for part in of_step} == {each * instances}
        assert np.array_equal(np.concatenate(of_step), batch)


def test_images_that_belong_to_no_group_are_dealt_one_by_one():
    random = RandomSampler(labels=LABELS, seed=0, size=6)
    dealt = [ShardedSampler(random, rank, 3) for rank in range(3)]
    for batch, *of_step in zip(
        random.batches(0), *(part.batches(0) for part in dealt), strict=True
    ):
        assert np.array_equal(np.concatenate(of_step), batch)


@pytest.mark.parametrize(
    ("identities", "world", "message"),
    [
        (9, 2, "a batch of 9 identities x 4 images cannot be dealt to 2 processes .* 8 or 10"),
        (3, 4, "a batch of 3 identities x 4 images cannot be dealt to 4 processes .* make it 4$"),
    ],
)
def test_a_batch_that_does_not_divide_is_told_before_training(identities, world, message):
    with pytest.raises(ConfigError, match=message):
        parts(world, identities=identities, instances=4)


def test_a_batch_of_single_images_that_does_not_divide_is_told_too():
    with pytest.raises(ConfigError, match=r"a batch of 8 images cannot be dealt to 3 .* 6 or 9"):
        ShardedSampler(RandomSampler(labels=LABELS, seed=0, size=8), 0, 3)


def test_a_later_batch_that_does_not_divide_is_an_error_too():
    class Shrinking:
        def __len__(self):
            return 2

        def batches(self, epoch):
            yield np.arange(4)
            yield np.arange(3)

        def summary(self):
            return "4 and 3"

    with pytest.raises(ConfigError, match="a batch of 3 images cannot be dealt"):
        list(ShardedSampler(Shrinking(), 0, 2).batches(0))


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_that_no_process_has_is_refused(rank, world):
    with pytest.raises(ConfigError, match=f"process {rank} of {world}: expected a rank from 0"):
        ShardedSampler(whole(identities=4), rank, world)


def test_it_is_an_epoch_sampler_and_its_summary_says_which_part_it_is():
    camids = np.zeros(len(LABELS), dtype=np.int64)
    inner = BalancedIdentitySampler(labels=LABELS, camids=camids, seed=0, identities=4)
    made = ShardedSampler(inner, 1, 2)
    assert isinstance(made, EpochSampler)
    assert made.summary() == f"{inner.summary()}; process 1 has 1/2 of each batch"
    assert made.instances == 4
