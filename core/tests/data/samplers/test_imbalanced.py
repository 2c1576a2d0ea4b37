"""Draws in which every identity has the same chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.imbalanced import ImbalancedSampler
from reid_core.errors import ConfigError


def labels_of(counts):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(len(counts)), counts))


def sampler(counts, size, seed=0):
    return ImbalancedSampler(labels=labels_of(counts), seed=seed, size=size)


@given(
    counts=st.lists(st.integers(1, 20), min_size=1, max_size=9),
    size=st.integers(1, 30),
    epoch=st.integers(0, 99),
)
def test_an_epoch_is_full_batches_of_rows_that_exist(counts, size, epoch):
    made = sampler(counts, size)
    batches = list(made.batches(epoch))
    assert len(batches) == len(made) == sum(counts) // size
    for batch in batches:
        assert batch.shape == (size,)
        assert batch.dtype == np.int64
        assert set(batch.tolist()) <= set(range(sum(counts)))


def test_the_chance_of_a_row_is_one_over_the_images_of_its_identity():
    counts = [1, 2, 5, 12]
    labels = labels_of(counts)
    made = sampler(counts, 20)
    rows = np.concatenate([batch for epoch in range(1500) for batch in made.batches(epoch)])
    share = np.bincount(rows, minlength=20) / len(rows)
    expected = [1 / 4 / counts[label] for label in labels]
    assert share == pytest.approx(expected, abs=0.008)


def test_the_summary_tells_the_expected_share():
    counts = [1, 2, 5, 12]
    labels = labels_of(counts)
    made = sampler(counts, 3)
    images = sum(1 - (1 - 1 / (4 * counts[label])) ** 18 for label in labels)
    people = sum(1 - (1 - 1 / 4) ** 18 for _ in counts)
    rows = [np.concatenate(list(made.batches(epoch))) for epoch in range(2000)]
    assert np.mean([len(set(one)) for one in rows]) == pytest.approx(images, abs=0.1)
    assert np.mean([len(set(labels[one])) for one in rows]) == pytest.approx(people, abs=0.01)
    assert made.summary() == (
        "6 batches of 3, each identity with the same chance: an epoch draws 18 from 20 images, "
        f"with replacement, it sees on average {images:.0f} of 20 images (48.0%) and on average 4 "
        "of 4 identities (99.4%)"
    )


def test_the_seed_and_the_epoch_decide_everything():
    def epoch_of(seed, epoch):
        made = sampler([4] * 9, 6, seed)
        return tuple(np.concatenate(list(made.batches(epoch))).tolist())

    assert len({epoch_of(seed, epoch) for seed in range(4) for epoch in range(4)}) == 16
    assert epoch_of(2, 3) == epoch_of(2, 3)


def test_a_size_below_one_is_refused():
    with pytest.raises(ConfigError, match="size is 0; expected at least 1"):
        sampler([4, 4], 0)


def test_it_is_an_epoch_sampler_that_leaves_global_random_state_alone(global_random_state):
    before = global_random_state()
    made = sampler([4] * 6, 8)
    list(made.batches(0))
    assert isinstance(made, EpochSampler)
    assert global_random_state() == before
