"""B037 and B091: plain shuffling without an incomplete batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.random import RandomSampler
from reid_core.errors import ConfigError


def sampler(total, size, seed=0):
    return RandomSampler(labels=np.zeros(total, dtype=np.int64), seed=seed, size=size)


@given(total=st.integers(1, 200), size=st.integers(1, 50), epoch=st.integers(0, 99))
def test_an_epoch_is_full_batches_of_different_rows(total, size, epoch):
    made = sampler(total, size)
    batches = list(made.batches(epoch))
    assert len(batches) == len(made) == total // size
    assert all(batch.shape == (size,) and batch.dtype == np.int64 for batch in batches)
    rows = [int(row) for batch in batches for row in batch]
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(range(total))


# B037: in training; tests of the loaders have the evaluation of 33 images.
def test_a_last_batch_of_one_image_is_left_out_and_told():
    made = sampler(33, 32)
    assert [len(batch) for batch in made.batches(0)] == [32]
    assert made.summary() == (
        "1 batches of 32: an epoch draws 32 from 33 images, it sees 32 of 33 images (96.9%) and "
        "1 of 1 identities (100.0%); 1 images unused"
    )


def test_the_identities_that_an_epoch_sees_are_told_as_their_mean():
    labels = np.repeat(np.arange(6), [1, 1, 1, 2, 4, 9])
    made = RandomSampler(labels=labels, seed=0, size=5)
    assert len(made) == 3  # 15 of 18 images
    seen = [len(set(labels[np.concatenate(list(made.batches(e)))])) for e in range(4000)]
    # An image is unused with probability 1/6, two given ones with 1/6 * 2/17, four never.
    expected = 6 - 3 / 6 - 1 / 6 * 2 / 17
    assert np.mean(seen) == pytest.approx(expected, abs=0.03)
    assert "on average 5 of 6 identities (91.3%)" in made.summary()
    assert "and 6 of 6 identities (100.0%); 0 images unused" in (
        RandomSampler(labels=labels, seed=0, size=6).summary()
    )


def test_another_image_is_left_out_each_epoch():
    left_out = {
        (
            set(range(33)) - {int(row) for batch in sampler(33, 32).batches(epoch) for row in batch}
        ).pop()
        for epoch in range(40)
    }
    assert len(left_out) > 10


def test_the_seed_and_the_epoch_decide_the_order():
    orders = {
        (seed, epoch): tuple(np.concatenate(list(sampler(40, 8, seed).batches(epoch))).tolist())
        for seed in (0, 1)
        for epoch in (0, 1)
    }
    assert len(set(orders.values())) == 4
    again = tuple(np.concatenate(list(sampler(40, 8, 1).batches(1))).tolist())
    assert again == orders[1, 1]


def test_fewer_images_than_a_batch_make_no_batch():
    made = sampler(6, 64)
    assert len(made) == 0
    assert list(made.batches(0)) == []


@pytest.mark.parametrize("size", [0, -8])
def test_a_size_below_one_is_refused(size):
    with pytest.raises(ConfigError, match=f"size is {size}; expected at least 1"):
        sampler(6, size)


def test_it_is_an_epoch_sampler_that_leaves_global_random_state_alone(global_random_state):
    before = global_random_state()
    made = sampler(40, 8)
    list(made.batches(0))
    assert isinstance(made, EpochSampler)
    assert global_random_state() == before
