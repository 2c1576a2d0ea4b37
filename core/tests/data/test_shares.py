"""B035: the parts of several processes are those of one batch."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.data.keys import EpochKeys
from reid_core.data.samplers.identity import IdentitySampler
from reid_core.data.samplers.limited import LimitedSampler
from reid_core.data.samplers.random import RandomSampler
from reid_core.data.shares import BatchShare
from reid_core.errors import ConfigError, PluginError

LABELS = np.random.default_rng(7).permutation(np.repeat(np.arange(20), 8))


def whole(*, seed=0, labels=LABELS, **keywords):
    return IdentitySampler(labels=labels, seed=seed, **keywords)


def dealt(sampler, world, *, seed=0, epoch=0):
    """The keys of an epoch by process; each draws for itself."""
    made = []
    for rank in range(world):
        keys = EpochKeys(sampler, seed=seed, num_rows=10_000, rank=rank, num_ranks=world)
        keys.epoch = epoch
        made.append(list(keys))
    return made


def rows(batch):
    return [key.row for key in batch]


# B035
def test_two_processes_have_eight_different_identities_and_no_image_twice():
    first, second = dealt(whole(identities=8, instances=4), 2)
    assert len(first) == len(second) == 5
    for pair in zip(first, second, strict=True):
        for part in pair:
            pids, counts = np.unique(LABELS[rows(part)], return_counts=True)
            assert counts.tolist() == [4] * 4, "a process has whole identities"
            assert len(pids) == 4
        together = rows(pair[0]) + rows(pair[1])
        assert len(set(together)) == 32
        assert len(set(LABELS[together].tolist())) == 8


# B112
@pytest.mark.parametrize("limit", [None, 3])
def test_101_images_on_two_processes_make_as_many_steps_on_each(limit):
    labels = np.arange(101) % 17
    sampler = whole(labels=labels, identities=4, instances=4)
    sampler = sampler if limit is None else LimitedSampler(sampler, limit)
    first, second = (
        EpochKeys(sampler, seed=0, num_rows=101, rank=rank, num_ranks=2) for rank in (0, 1)
    )
    assert len(first) == len(second) == len(list(first)) == len(list(second)) > 0


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 15), min_size=12, max_size=20),
    world=st.integers(1, 4),
    each=st.integers(1, 3),
    instances=st.integers(1, 4),
    rule=st.sampled_from(["all_images", "one_group"]),
    epoch=st.integers(0, 99),
)
def test_together_they_are_the_keys_of_the_whole(counts, world, each, instances, rule, epoch):
    if world * each < 2:
        return
    sampler = whole(
        labels=np.repeat(np.arange(len(counts)), counts),
        identities=world * each,
        instances=instances,
        rule=rule,
    )
    ((*expected,),) = dealt(sampler, 1, epoch=epoch)
    for batch, *parts in zip(expected, *dealt(sampler, world, epoch=epoch), strict=True):
        assert {len(part) for part in parts} == {each * instances}
        # Row and seed of each image: the augmentation is that of one process too.
        assert [key for part in parts for key in part] == batch


def test_images_that_belong_to_no_group_are_dealt_one_by_one():
    random = RandomSampler(labels=LABELS, seed=0, size=6)
    for batch, *parts in zip(*dealt(random, 1), *dealt(random, 3), strict=True):
        assert [key for part in parts for key in part] == batch


@pytest.mark.parametrize(
    ("identities", "world", "message"),
    [
        (
            9,
            2,
            "a batch of 9 identities x 4 images cannot be dealt to 2 processes evenly; make it "
            "8 or 10 (data.batch.identities)",
        ),
        (
            3,
            4,
            "a batch of 3 identities x 4 images cannot be dealt to 4 processes evenly; make it "
            "4 (data.batch.identities)",
        ),
    ],
)
def test_a_batch_that_does_not_divide_is_told_before_training(identities, world, message):
    sampler = whole(identities=identities, instances=4)
    with pytest.raises(ConfigError, match=re.escape(message)):
        EpochKeys(sampler, seed=0, num_rows=160, rank=0, num_ranks=world)


def test_a_batch_of_single_images_that_does_not_divide_is_told_too():
    message = "a batch of 8 images cannot be dealt to 3 processes evenly; make it 6 or 9 ("
    with pytest.raises(ConfigError, match=re.escape(message) + "data.batch.size"):
        dealt(RandomSampler(labels=LABELS, seed=0, size=8), 3)


class Shrinking:
    """Its second batch is smaller than its first."""

    instances = 1

    def __init__(self, *lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)

    def batches(self, epoch):
        for length in self.lengths:
            yield np.arange(length)

    def summary(self):
        return "fewer and fewer"


def test_a_later_batch_that_does_not_divide_is_told_before_training_too():
    with pytest.raises(ConfigError, match="a batch of 3 images cannot be dealt"):
        EpochKeys(Shrinking(4, 3), seed=0, num_rows=9, rank=0, num_ranks=2)
    assert [len(batch) for batch in EpochKeys(Shrinking(4, 3), seed=0, num_rows=9)] == [4, 3]


def test_a_batch_of_broken_groups_is_told_by_its_images():
    sampler = Shrinking(10)
    sampler.instances = 4
    message = "a batch of 10 images, in groups of 4, cannot be dealt to 2 processes"
    with pytest.raises(ConfigError, match=message):
        EpochKeys(sampler, seed=0, num_rows=99, rank=0, num_ranks=2)


def test_a_sampler_that_gives_no_batches_is_named_before_training():
    class Rows(Shrinking):
        def batches(self, epoch):
            yield from range(4)

    with pytest.raises(PluginError, match="it yields whole batches, not single rows"):
        EpochKeys(Rows(4), seed=0, num_rows=9, rank=0, num_ranks=2)


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_that_no_process_has_is_refused(rank, world):
    with pytest.raises(ConfigError, match=f"process {rank} of {world}: expected a rank from 0"):
        BatchShare(rank, world)
