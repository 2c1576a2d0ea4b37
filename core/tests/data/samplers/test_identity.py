"""B025 to B028 and B031: P identities with K images each, finite and of exact length."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reid_core.data.keys import EpochKeys
from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.all_images import least_seen
from reid_core.data.samplers.identity import IdentitySampler
from reid_core.errors import ConfigError, DataError, PluginError


def sampler(counts, *, seed=0, **keywords):
    """A sampler of identities with so many images each, their rows mixed."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return IdentitySampler(
        labels=np.random.default_rng(7).permutation(labels), seed=seed, **keywords
    )


def labels_of(counts):
    return np.random.default_rng(7).permutation(np.repeat(np.arange(len(counts)), counts))


def groups_of(counts, instances):
    """The groups that the rule cuts an identity's images into, word by word."""
    return [1 if count < instances else count // instances for count in counts]


@cache
def most_batches(groups, identities):
    """Try every choice of different identities for each batch."""
    possible = [i for i, left in enumerate(groups) if left]
    best = 0
    for chosen in combinations(possible, identities):
        rest = tuple(sorted(left - (i in chosen) for i, left in enumerate(groups)))
        best = max(best, 1 + most_batches(rest, identities))
    return best


def slow_length(groups, identities):
    """The definition: the largest m with m * P <= sum(min(groups, m))."""
    fits = [m for m in range(sum(groups) + 1) if m * identities <= sum(min(g, m) for g in groups)]
    return max(fits)


def slow_length_of_many(groups, identities):
    bound = sum(groups) // identities
    return next(m for m in range(bound, 0, -1) if m * identities <= sum(min(g, m) for g in groups))


small_counts = st.lists(st.integers(1, 13), min_size=2, max_size=5)


@settings(max_examples=150, deadline=None)
@given(counts=small_counts, identities=st.integers(2, 3), instances=st.integers(2, 4))
def test_the_length_is_the_most_that_any_order_of_choices_allows(counts, identities, instances):
    assume(len(counts) >= identities)
    groups = tuple(sorted(groups_of(counts, instances)))
    made = sampler(counts, identities=identities, instances=instances)
    assert len(made) == most_batches(groups, identities)


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(1, 40), min_size=4, max_size=30),
    identities=st.integers(2, 4),
    instances=st.integers(1, 6),
    seed=st.integers(0, 2**40),
    epoch=st.integers(0, 1000),
)
def test_every_batch_keeps_the_promise(counts, identities, instances, seed, epoch):
    labels = labels_of(counts)
    made = sampler(counts, seed=seed, identities=identities, instances=instances)
    batches = list(made.batches(epoch))
    assert len(batches) == len(made) == slow_length(groups_of(counts, instances), identities)
    uses = np.zeros(len(labels), dtype=int)
    for batch in batches:
        assert batch.dtype == np.int64
        groups = batch.reshape(identities, instances)
        pids = labels[groups]
        assert (pids == pids[:, :1]).all(), "a group mixes identities"
        assert len(set(pids[:, 0])) == identities, "an identity comes twice"
        np.add.at(uses, batch, 1)
    counts_of_row = np.array(counts)[labels]
    assert uses[counts_of_row >= instances].max(initial=0) <= 1, "an image repeats in an epoch"
    assert uses.max() <= instances


@settings(max_examples=30, deadline=None)
@given(counts=st.lists(st.integers(1, 30), min_size=3, max_size=12), seed=st.integers(0, 99))
def test_the_seed_and_the_epoch_decide_everything(counts, seed):
    first, second = (sampler(counts, seed=seed, identities=3) for _ in range(2))
    list(first.batches(5))  # an epoch asked for before changes nothing
    for epoch in (0, 1):
        for ours, theirs in zip(first.batches(epoch), second.batches(epoch), strict=True):
            assert np.array_equal(ours, theirs)


def test_every_epoch_and_every_seed_differ():
    seen = {
        tuple(np.concatenate(list(sampler([4] * 8, seed=seed, identities=4).batches(epoch))))
        for seed in range(5)
        for epoch in range(20)
    }
    assert len(seen) == 100


# B027
def test_eight_identities_in_batches_of_four_never_repeat_one():
    labels = labels_of([20] * 8)
    made = sampler([20] * 8, identities=4, instances=4)
    batches = [batch for epoch in range(100) for batch in made.batches(epoch)]
    assert len(batches) == 1000
    for batch in batches:
        pids, counts = np.unique(labels[batch], return_counts=True)
        assert len(pids) == 4
        assert counts.tolist() == [4, 4, 4, 4]


# B028
def test_the_length_of_the_reference_case_is_two_in_every_epoch():
    made = sampler([1, 3, 4, 10], instances=4, identities=2)  # groups 1, 1, 1, 2
    assert len(made) == 2
    assert {len(list(made.batches(epoch))) for epoch in range(50)} == {2}


# B026
@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_identity_with_too_few_images_repeats_them_evenly(count):
    counts = [count, 5, 5, 5]
    labels = labels_of(counts)
    made = sampler(counts, instances=4, identities=2)
    groups = [group for batch in made.batches(0) for group in batch.reshape(2, 4)]
    assert {len(batch) for batch in made.batches(0)} == {8}
    short = [group for group in groups if labels[group[0]] == 0]
    assert len(short) == 1, "with four groups for two batches every identity is drawn"
    rows, repeats = np.unique(short[0], return_counts=True)
    assert len(rows) == count
    assert repeats.max() - repeats.min() <= 1


def test_over_the_epochs_every_image_is_used():
    counts = [7, 9, 1, 30, 5, 4]
    made = sampler(counts, instances=4, identities=3)
    seen = {int(row) for epoch in range(40) for batch in made.batches(epoch) for row in batch}
    assert seen == set(range(sum(counts)))


def test_a_large_identity_does_not_starve_the_others():
    counts = [100, 4, 4, 4]
    labels = labels_of(counts)
    made = sampler(counts, instances=4, identities=2)
    assert len(made) == 3  # the large one has 25 groups, but only 3 partners
    for batch in made.batches(0):
        assert 0 in labels[batch]


def test_all_groups_are_drawn_where_identities_are_alike():
    made = sampler([8] * 6, instances=4, identities=3)
    rows = np.concatenate(list(made.batches(3)))
    assert sorted(rows) == list(range(48))


def test_a_large_data_set_is_sampled_without_a_pause():
    counts = np.random.default_rng(0).integers(1, 20, 10_000)
    made = sampler(counts, instances=4, identities=16)
    total = sum(len(batch) for batch in made.batches(0))
    assert total == len(made) * 64
    assert len(made) == slow_length_of_many(groups_of(counts.tolist(), 4), 16)


# B025: the case of a batch of 2 is among the parameters that make no batch, below.
def test_too_few_identities_are_told_with_all_three_numbers():
    with pytest.raises(DataError) as caught:
        sampler([4] * 8, size=64, instances=4)
    assert str(caught.value) == (
        "a batch of 64 with 4 images an identity needs 16 identities, the training data has 8; set "
        "data.batch.identities to at most 8, or lower data.batch.size to at most 32"
    )


def test_advice_that_could_not_be_followed_is_not_given():
    with pytest.raises(DataError, match="has 1; a metric loss needs at least 2: add data"):
        sampler([40], identities=4)


# B031
@pytest.mark.parametrize(
    ("size", "nearest"), [(22, "20 or 24"), (9, "8 or 12"), (7, "8"), (2, "8"), (5, "8")]
)
def test_a_size_that_is_no_multiple_names_the_nearest_that_work(size, nearest):
    with pytest.raises(ConfigError, match=f"size {size} is not a multiple of 4 .*: {nearest}$"):
        sampler([4] * 8, size=size, instances=4)
    for usable in nearest.split(" or "):
        assert len(sampler([4] * 8, size=int(usable), instances=4)) > 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "give the batch as identities"),
        ({"identities": 2, "size": 8}, "got identities=2, size=8"),
        ({"identities": 1}, "has 1 identities a batch; .* at least 2"),
        ({"identities": 0}, "has 0 identities a batch"),
        ({"size": 0}, "has 0 identities a batch"),
        ({"size": 4}, "has 1 identities a batch"),
        ({"identities": 2, "instances": 0}, "instances is 0; expected at least 1"),
    ],
)
def test_parameters_that_make_no_batch_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        sampler([4] * 8, **keywords)


def test_size_and_identities_mean_the_same():
    by_size, by_identities = sampler([9] * 8, size=16), sampler([9] * 8, identities=4)
    assert by_size.summary() == by_identities.summary()


def test_labels_need_not_be_consecutive():
    labels = np.array([122, 3, 7] * 4)
    made = IdentitySampler(labels=labels, seed=0, identities=3, instances=4)
    (batch,) = made.batches(0)
    assert sorted(batch) == list(range(12))


def seen_by(made, labels, epochs):
    """How many different images and identities each epoch sees."""
    for epoch in range(epochs):
        rows = np.concatenate(list(made.batches(epoch)))
        yield len(set(rows)), len(set(labels[rows]))


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 20), min_size=3, max_size=9),
    identities=st.integers(2, 3),
    instances=st.integers(1, 5),
)
def test_every_epoch_sees_what_the_summary_promises(counts, identities, instances):
    groups = np.array(groups_of(counts, instances))
    images, people, is_exact = least_seen(np.array(counts), groups, instances, identities)
    made = sampler(counts, identities=identities, instances=instances)
    for of_images, of_people in seen_by(made, labels_of(counts), 5):
        if is_exact:
            assert (of_images, of_people) == (images, people)
        assert of_images >= images
        assert of_people >= people


def test_the_promise_is_kept_to_the_letter_in_some_epoch():
    counts = [1, 4, 4, 4, 4]
    images, people, is_exact = least_seen(np.array(counts), np.ones(5, dtype=int), 4, 2)
    assert (images, people, is_exact) == (13, 4, False)
    seen = set(seen_by(sampler(counts, identities=2), labels_of(counts), 60))
    assert min(seen) == (13, 4)


# B026: the summary, which is logged at the start, counts the identities that repeat images.
def test_the_summary_counts_what_is_drawn_and_who_repeats():
    assert sampler([1, 3, 4, 10], identities=2).summary() == (
        "2 batches of 2 identities x 4 images: an epoch draws 16 from 18 images, it sees at least "
        "12 of 18 images (66.6%) and at least 3 of 4 identities (75.0%); 2 identities have fewer "
        "than 4 images, theirs repeat in a batch"
    )
    assert "fewer" not in sampler([4, 4], identities=2).summary()
    assert "it sees 8 of 8 images (100.0%) and 2 of 2 identities (100.0%)" in (
        sampler([4, 4], identities=2).summary()
    )


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 12), min_size=3, max_size=12),
    instances=st.integers(1, 5),
    epoch=st.integers(0, 99),
)
def test_one_group_takes_each_identity_once_at_most(counts, instances, epoch):
    labels = labels_of(counts)
    made = sampler(counts, identities=3, instances=instances, rule="one_group")
    batches = list(made.batches(epoch))
    assert len(batches) == len(made) == len(counts) // 3
    drawn = []
    for batch in batches:
        for group in batch.reshape(3, instances):
            (pid,) = set(labels[group])
            drawn.append(pid)
            repeats = [list(group).count(row) for row in group]
            # Different images where there are enough, otherwise all of them in turn.
            assert len(set(group)) == min(instances, counts[pid])
            assert max(repeats) - min(repeats) <= 1
    assert len(drawn) == len(set(drawn))


def test_one_group_tells_the_mean_of_what_an_epoch_sees():
    counts = [1, 2, 9, 9, 9]
    made = sampler(counts, identities=2, rule="one_group")
    assert made.summary() == (
        "2 batches of 2 identities x 4 images: an epoch draws 16 from 30 images, it sees on "
        "average 12 of 30 images (40.0%) and 4 of 5 identities (80.0%); 2 identities have fewer "
        "than 4 images, theirs repeat in a batch"
    )
    images, people = zip(*seen_by(made, labels_of(counts), 1500), strict=True)
    assert np.mean(images) == pytest.approx(12, abs=0.15)
    assert set(people) == {4}


def test_one_group_draws_every_identity_and_image_in_turn():
    made = sampler([6, 7, 8], identities=2, rule="one_group")
    assert {row for e in range(40) for batch in made.batches(e) for row in batch} == set(range(21))


def test_an_unknown_rule_is_answered_with_the_rules():
    message = "rule: got 'one_groups', expected all_images or one_group; did you mean one_group?"
    with pytest.raises(ConfigError) as caught:
        sampler([4, 4], identities=2, rule="one_groups")
    assert message in str(caught.value)


def test_global_random_state_is_left_alone(global_random_state):
    before = global_random_state()
    list(sampler([5] * 8, identities=4).batches(0))
    assert global_random_state() == before


def test_it_is_an_epoch_sampler():
    assert isinstance(sampler([4, 4], identities=2), EpochSampler)


# B030
def test_rows_of_data_that_was_filtered_after_the_sampler_was_made_are_refused():
    made = sampler([1, 5, 5], identities=3, instances=4)
    with pytest.raises(PluginError, match=r"the data has rows 0\.\.9$"):
        list(EpochKeys(made, seed=0, num_rows=10))
