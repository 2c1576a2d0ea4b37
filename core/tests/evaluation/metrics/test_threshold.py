"""A threshold is chosen exactly, and what it accepts is counted exactly."""

import numpy as np
import pytest

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import Labels, no_camera
from reid_core.evaluation.metrics.threshold import Criterion, choose_threshold, threshold_rates
from reid_core.evaluation.search import Search, number_rows


def search(distances, query_pids, gallery_pids):
    distances = np.asarray(distances, dtype=np.float32)
    sides = (
        Labels(np.asarray(pids), np.zeros(len(pids), dtype=int))
        for pids in (query_pids, gallery_pids)
    )
    query, gallery = number_rows(*sides)
    return Search(
        query,
        gallery,
        lambda start, stop: distances[start:stop],
        no_camera(),
        "cosine",
        num_gallery=len(gallery),
    )


#: Two queries: pairs of one identity at .1 .3 .6, of two at .2 .4 .5 .7 .8.
HAND = search([[0.1, 0.3, 0.2, 0.5], [0.4, 0.8, 0.6, 0.7]], [1, 2], [1, 1, 2, 3])


def random_search(seed, *, ties):
    rng = np.random.default_rng(seed)
    distances = rng.random((20, 50))
    if ties:
        distances = np.round(distances, 1)
    pids = rng.integers(0, 4, 70)
    return search(distances, pids[:20], pids[20:])


def pairs(one):
    """All pairs, plainly: distances of one identity and of two."""
    block = one.distances(0, len(one.query))
    is_same = one.query.pids[:, None] == one.gallery.pids
    return block[is_same], block[~is_same]


def test_hand_computed_thresholds():
    def chosen(text):
        return choose_threshold([HAND], Criterion.parse(text))

    # One of five pairs of two identities may be accepted: 0.3 takes the one at 0.2.
    assert chosen("fpr=0.2") == pytest.approx(0.3)
    # Three of five: 0.6 takes those at 0.2, 0.4 and 0.5.
    assert chosen("fpr=0.6") == pytest.approx(0.6)
    # Two of three pairs of one identity are 0.67.
    assert chosen("tpr=0.6") == pytest.approx(0.3)
    assert chosen("tpr=0.7") == pytest.approx(0.6)


def test_hand_computed_rates():
    rates = threshold_rates([HAND], 0.45)
    assert rates.plain() == {
        "tpr": pytest.approx(2 / 3),
        "fpr": pytest.approx(2 / 5),
        "num_same": 3,
        "accepted_same": 2,
        "num_different": 5,
        "accepted_different": 2,
    }


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_chosen_rates_are_kept_on_the_set_itself(seed, ties):
    one = random_search(seed, ties=ties)
    same, different = pairs(one)
    for rate in (0.05, 0.1, 0.5):
        threshold = choose_threshold([one], Criterion.parse(f"fpr={rate}"))
        assert (different <= np.float32(threshold)).mean() <= rate
        # No pair of one identity can be added without breaking the rate.
        farther = same[same > np.float32(threshold)]
        if farther.size:
            assert (different <= farther.min()).mean() > rate
        threshold = choose_threshold([one], Criterion.parse(f"tpr={rate}"))
        assert (same <= np.float32(threshold)).mean() >= rate
        assert (same < np.float32(threshold)).mean() < rate
    threshold = choose_threshold([one], Criterion.parse("eer"))
    rates = threshold_rates([one], threshold)
    assert rates.fpr == pytest.approx((different <= np.float32(threshold)).mean())
    if not ties:
        assert abs(rates.fpr - (1 - rates.tpr)) < 0.02


def test_trials_are_counted_together():
    both = threshold_rates([HAND, HAND], 0.45)
    assert (both.num_same, both.accepted_same) == (6, 4)
    assert choose_threshold([HAND, HAND], Criterion.parse("tpr=0.6")) == pytest.approx(0.3)


def test_a_rate_that_the_pairs_cannot_tell_is_refused():
    with pytest.raises(DataError, match="told on 5 pairs of two identities: it asks for at least"):
        choose_threshold([HAND], Criterion.parse("fpr=1e-3"))
    mixed = search([[0.5, 0.1, 0.1, 0.1]], [1], [1, 2, 3, 4])
    with pytest.raises(DataError, match="the embeddings do not tell identities apart"):
        choose_threshold([mixed], Criterion.parse("fpr=0.4"))
    with pytest.raises(DataError, match="1 pairs of one identity and 0 of two"):
        choose_threshold([search([[0.5]], [1], [1])], Criterion.parse("eer"))


@pytest.mark.parametrize("text", ["fpr", "fpr=0", "fpr=2", "tpr=x", "eer=0.1", "mAP=0.5", ""])
def test_another_criterion_is_refused(text):
    with pytest.raises(UsageError, match=r"expected fpr=RATE, tpr=RATE or eer.*fpr=1e-3"):
        Criterion.parse(text)


def test_a_criterion_is_kept_as_it_was_written():
    assert Criterion.parse("fpr=1e-3") == Criterion("fpr", 1e-3, "fpr=1e-3")


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_corner_has_error_rates_nearer_to_each_other_than_the_chosen_one(seed, ties):
    one = random_search(seed, ties=ties)
    same, _ = pairs(one)
    chosen = threshold_rates([one], choose_threshold([one], Criterion.parse("eer")))
    corners = np.unique(np.concatenate([same, np.nextafter(same, np.float32(-1))]))
    gaps = []
    for corner in corners.tolist():
        rates = threshold_rates([one], corner)
        gaps.append(abs(rates.fpr - (1 - rates.tpr)))
    assert abs(chosen.fpr - (1 - chosen.tpr)) == pytest.approx(min(gaps), abs=1e-12)


def test_the_equal_error_threshold_of_few_pairs_by_hand():
    # At 0.6 three of five are accepted and none rejected; just below, 3/5 and 1/3: at 0.3 1/5 and
    # 1/3, which is nearest.
    assert choose_threshold([HAND], Criterion.parse("eer")) == pytest.approx(0.3)
