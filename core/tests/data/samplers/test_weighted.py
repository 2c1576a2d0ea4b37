"""P×K with a fixed number of identities from each data set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.weighted import WeightedSampler
from reid_core.errors import ConfigError, DataError


def rows_of(sets):
    """Labels and sets of the rows, mixed; ``sets`` holds the images of each identity of a set."""
    identities = [(count, number) for number, counts in enumerate(sets) for count in counts]
    labels = np.repeat(np.arange(len(identities)), [count for count, _ in identities])
    order = np.random.default_rng(5).permutation(len(labels))
    of_identity = np.array([number for _, number in identities])
    return labels[order], of_identity[labels[order]]


def sampler(sets, weights, *, seed=0, **keywords):
    labels, of_row = rows_of(sets)
    names = [f"set{number}" for number in range(len(sets))]
    given_weights = weights if isinstance(weights, dict) else dict(zip(names, weights, strict=True))
    return WeightedSampler(
        labels=labels, sets=of_row, set_names=names, seed=seed, weights=given_weights, **keywords
    )


@settings(max_examples=80, deadline=None)
@given(
    sets=st.lists(st.lists(st.integers(1, 12), min_size=3, max_size=8), min_size=1, max_size=3),
    data=st.data(),
    instances=st.integers(1, 5),
    epoch=st.integers(0, 999),
)
def test_each_batch_has_so_many_identities_of_each_set(sets, data, instances, epoch):
    weights = [data.draw(st.integers(0, len(counts))) for counts in sets]
    weights[0] = max(weights[0], 2)
    labels, of_row = rows_of(sets)
    counts = np.bincount(labels)
    made = sampler(sets, weights, instances=instances)
    batches = list(made.batches(epoch))
    usable = sum(sum(own) for own, weight in zip(sets, weights, strict=True) if weight)
    assert len(batches) == len(made) == max(1, usable // (sum(weights) * instances))
    for batch in batches:
        assert batch.dtype == np.int64
        groups = batch.reshape(sum(weights), instances)
        pids = [int(label) for label in labels[groups[:, 0]]]
        assert (labels[groups] == labels[groups[:, :1]]).all()
        assert len(set(pids)) == len(pids), "an identity comes twice"
        from_set = np.bincount(of_row[groups[:, 0]], minlength=len(sets))
        assert from_set.tolist() == weights
        for pid, group in zip(pids, groups, strict=True):
            assert len(set(group)) == min(instances, counts[pid])


def test_identities_of_a_set_come_in_proportion_to_their_images():
    sets = [[1, 2, 3, 4], [7, 7]]
    labels, _ = rows_of(sets)
    made = sampler(sets, [2, 1], instances=1)
    batches = [batch for epoch in range(600) for batch in made.batches(epoch)]
    pids, counts = np.unique(labels[np.concatenate(batches)], return_counts=True)
    assert pids.tolist() == [0, 1, 2, 3, 4, 5]
    # 2 · images / 10, and 1 · 7 / 14.
    assert counts / len(batches) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.5, 0.5], abs=0.03)


def test_an_identity_with_most_of_the_images_is_in_every_batch_and_the_rest_share_what_is_left():
    sets = [[100, 1, 1, 2]]
    labels, _ = rows_of(sets)
    made = sampler(sets, [2], instances=2)
    batches = [batch for epoch in range(100) for batch in made.batches(epoch)]
    pids, counts = np.unique(labels[np.concatenate(batches)[::2]], return_counts=True)
    assert pids.tolist() == [0, 1, 2, 3]
    assert counts / len(batches) == pytest.approx([1, 0.25, 0.25, 0.5], abs=0.04)


def test_a_set_that_gives_all_its_identities_gives_them_in_every_batch():
    labels, _ = rows_of([[3, 9, 1], [4] * 5])
    for batch in sampler([[3, 9, 1], [4] * 5], [3, 2]).batches(0):
        assert {0, 1, 2} <= set(labels[batch])


def test_a_part_of_the_batch_has_something_of_every_set():
    _, of_row = rows_of([[4] * 8, [4] * 8])
    made = sampler([[4] * 8, [4] * 8], [4, 4], instances=1)
    halves = [of_row[batch[:4]] for epoch in range(40) for batch in made.batches(epoch)]
    assert 1.7 < np.mean([half.sum() for half in halves]) < 2.3


def test_the_summary_tells_the_expected_share():
    sets = [[1, 2, 30, 6], [4, 4, 4], [50, 50]]
    labels, _ = rows_of(sets)
    made = sampler(sets, [2, 2, 0], instances=3)
    assert len(made) == 51 // 12
    # 30 of 39 images are over half: that identity is certain, the others share the second place.
    chances = {1: 1 / 9, 2: 2 / 9, 30: 1.0, 6: 6 / 9, 4: 2 / 3}
    images, people = 0.0, 0.0
    for count in [1, 2, 30, 6, 4, 4, 4]:
        people += 1 - (1 - chances[count]) ** 4
        images += count * (1 - (1 - chances[count] * min(3, count) / count) ** 4)
    rows = [np.concatenate(list(made.batches(epoch))) for epoch in range(1000)]
    assert np.mean([len(set(one)) for one in rows]) == pytest.approx(images, abs=0.25)
    assert np.mean([len(set(labels[one])) for one in rows]) == pytest.approx(people, abs=0.06)
    assert made.summary() == (
        "4 batches of 4 identities (set0 2, set1 2, set2 0) x 3 images: an epoch draws 48 from 151 "
        f"images, with replacement, it sees on average {images:.0f} of 151 images (18.5%) and on "
        f"average {people:.0f} of 9 identities (66.2%)"
    )


def test_the_seed_and_the_epoch_decide_everything():
    def epoch_of(seed, epoch):
        made = sampler([[4] * 9, [3] * 5], [2, 1], seed=seed)
        return tuple(np.concatenate(list(made.batches(epoch))).tolist())

    assert len({epoch_of(seed, epoch) for seed in range(4) for epoch in range(4)}) == 16
    assert epoch_of(2, 3) == epoch_of(2, 3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"set0": 2, "sett1": 1}, "sett1 is none of the training sets set0, set1; did you mean se"),
        ({"set0": 2}, "has no entry for set1; give each training set .* 0 to leave it out"),
        ({"set0": 2, "set1": -1}, "set1 is -1; expected at least 0"),
        ({"set0": 1, "set1": 0}, "add up to 1 identities a batch; .* at least 2"),
    ],
)
def test_weights_that_do_not_fit_the_training_sets_are_refused(weights, message):
    with pytest.raises(ConfigError, match=message):
        sampler([[4] * 3, [4] * 3], weights)


def test_a_set_with_too_few_identities_is_told_with_both_numbers():
    with pytest.raises(DataError, match=r"asks for 5 identities of set1 .* has 3; .* at most 3"):
        sampler([[4] * 3, [4] * 3], [2, 5])


def test_less_than_one_image_an_identity_is_refused():
    with pytest.raises(ConfigError, match="instances is 0; expected at least 1"):
        sampler([[4] * 3], [2], instances=0)


def test_it_is_an_epoch_sampler_that_leaves_global_random_state_alone(global_random_state):
    before = global_random_state()
    made = sampler([[4] * 6], [2])
    list(made.batches(0))
    assert isinstance(made, EpochSampler)
    assert global_random_state() == before
