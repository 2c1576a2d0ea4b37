"""P×K with images of other cameras first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.balanced_identity import BalancedIdentitySampler
from reid_core.errors import ConfigError, DataError


def rows_of(cameras):
    """Labels and cameras of identities whose images these cameras took, in mixed order."""
    pairs = [(label, camera) for label, own in enumerate(cameras) for camera in own]
    mixed = np.random.default_rng(3).permutation(np.array(pairs))
    return mixed[:, 0], mixed[:, 1]


def sampler(cameras, *, seed=0, **keywords):
    labels, camids = rows_of(cameras)
    return BalancedIdentitySampler(labels=labels, camids=camids, seed=seed, **keywords)


def other_rows(first, labels, camids):
    """The rule, a row at a time: what may stand beside the first image of an identity."""
    own = [row for row in range(len(labels)) if labels[row] == labels[first]]
    others = [row for row in own if camids[row] != camids[first]]
    return others or [row for row in own if row != first] or [first]


cameras_of_identities = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=2, max_size=9
)


@settings(max_examples=120, deadline=None)
@given(cameras=cameras_of_identities, instances=st.integers(1, 5), epoch=st.integers(0, 999))
def test_each_identity_gives_one_image_and_then_those_of_other_cameras(cameras, instances, epoch):
    labels, camids = rows_of(cameras)
    made = sampler(cameras, identities=2, instances=instances)
    batches = list(made.batches(epoch))
    assert len(batches) == len(made) == len(cameras) // 2
    drawn = []
    for batch in batches:
        assert batch.shape == (2 * instances,)
        assert batch.dtype == np.int64
        for first, *rest in batch.reshape(2, instances).tolist():
            drawn.append(labels[first])
            allowed = other_rows(first, labels, camids)
            assert set(rest) <= set(allowed)
            assert len(set(rest)) == min(instances - 1, len(allowed)), "repeats without need"
            repeats = [rest.count(row) for row in rest]
            assert max(repeats, default=0) - min(repeats, default=0) <= 1
    assert len(drawn) == len(set(drawn)), "an identity comes twice"


def test_every_image_is_drawn_first_equally_often():
    made = sampler([[0, 0, 0, 1], [0, 1]], identities=2, instances=2)
    labels, _ = rows_of([[0, 0, 0, 1], [0, 1]])
    first = [row for e in range(4000) for b in made.batches(e) for row in b[::2] if not labels[row]]
    _, counts = np.unique(first, return_counts=True)
    assert counts / 4000 == pytest.approx([0.25] * 4, abs=0.03)


def test_the_seed_and_the_epoch_decide_everything():
    def epoch_of(seed, epoch):
        made = sampler([[0, 1, 2, 2]] * 9, identities=4, seed=seed)
        return tuple(np.concatenate(list(made.batches(epoch))).tolist())

    assert len({epoch_of(seed, epoch) for seed in range(4) for epoch in range(4)}) == 16
    assert epoch_of(2, 3) == epoch_of(2, 3)


def test_the_summary_tells_the_mean_of_the_images_and_who_was_seen_by_one_camera():
    cameras = [[0, 0, 0, 1], [0, 1, 2, 2, 2, 2], [5, 5], [5], [0, 1, 2]]
    made = sampler(cameras, identities=2, instances=3)
    rows = [np.concatenate(list(made.batches(epoch))) for epoch in range(3000)]
    mean = np.mean([len(set(one)) for one in rows])
    # 3/4 · 2 + 1/4 · 3, 3, 2, 1 and 3 images; 4 of 5 identities come.
    assert mean == pytest.approx((2.25 + 3 + 2 + 1 + 3) * 4 / 5, abs=0.04)
    assert made.summary() == (
        "2 batches of 2 identities x 3 images from different cameras: an epoch draws 12 from 16 "
        "images, it sees on average 9 of 16 images (56.2%) and 4 of 5 identities (80.0%); 2 "
        "identities have one of the cameras only"
    )
    assert "of the cameras only" not in sampler([[0, 1]] * 2, identities=2).summary()


def test_what_cannot_make_a_batch_is_refused_as_by_the_identity_sampler():
    with pytest.raises(DataError, match="needs 16 identities, the training data has 2"):
        sampler([[0, 1]] * 2, size=64)
    with pytest.raises(ConfigError, match="22 is not a multiple of 4"):
        sampler([[0, 1]] * 8, size=22)


def test_it_is_an_epoch_sampler_that_leaves_global_random_state_alone(global_random_state):
    before = global_random_state()
    made = sampler([[0, 1]] * 6, identities=2)
    list(made.batches(0))
    assert isinstance(made, EpochSampler)
    assert global_random_state() == before


def test_across_another_column_that_is_what_differs():
    labels, camids = np.repeat([0, 1, 2], 6), np.zeros(18, dtype=np.int64)
    modalities = np.array(["rgb", "rgb", "rgb", "rgb", "infrared", "infrared"] * 3)
    made = BalancedIdentitySampler(
        labels=labels,
        camids=camids,
        seed=0,
        identities=3,
        instances=2,
        across="modalities",
        columns={"modalities": modalities},
    )
    for epoch in range(20):
        (batch,) = made.batches(epoch)
        pairs = modalities[batch].reshape(3, 2)
        assert (pairs[:, 0] != pairs[:, 1]).all()
    assert "from different modalities" in made.summary()


def test_a_column_that_the_sets_lack_is_named_with_those_they_have():
    columns = {"clothids": np.zeros(4), "attributes": np.zeros((4, 2))}
    with pytest.raises(
        ConfigError, match=r"no column clothid; did you mean clothids\?; expected one of camids, cl"
    ):
        BalancedIdentitySampler(
            labels=np.arange(4),
            camids=np.zeros(4),
            seed=0,
            identities=2,
            across="clothid",
            columns=columns,
        )


def test_cameras_that_are_not_known_are_refused_with_a_way_out():
    with pytest.raises(DataError, match=r"for 3 of 4 training images .*data\.batch\.sampler to"):
        BalancedIdentitySampler(
            labels=np.arange(4), camids=np.array([0, -1, -1, -1]), seed=0, identities=2
        )
