import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.errors import DataError
from reid_core.evaluation import (
    Labels,
    Search,
    market1501,
    no_camera,
    roc_counts,
    verify,
)
from reid_core.evaluation.metrics import pair_blocks
from reid_core.evaluation.metrics.verification import histogram_of, verification_of
from reid_core.evaluation.search import number_rows


def make_search(distances, query, gallery, protocol=None) -> Search:
    sides = number_rows(query, gallery)
    return Search(
        *sides,
        distances=lambda start, stop: distances[start:stop],
        protocol=protocol or market1501(),
        distance="given",
    )


def one_query(same, different) -> Search:
    """A search of one query, by the distances of its matches and of the others."""
    distances = np.array([[*same, *different]], dtype=np.float32)
    pids = np.array([1] * len(same) + [2] * len(different))
    return make_search(
        distances,
        Labels(np.array([1]), np.array([0])),
        Labels(pids, np.ones(len(pids), dtype=int)),
    )


def random_search(seed, num_query=12, num_gallery=40, levels=None) -> Search:
    rng = np.random.default_rng(seed)
    query = Labels(rng.integers(0, 5, num_query), rng.integers(0, 3, num_query))
    gallery = Labels(rng.integers(-1, 5, num_gallery), rng.integers(0, 3, num_gallery))
    is_same = query.pids[:, None] == gallery.pids
    distances = rng.random((num_query, num_gallery)) + np.where(is_same, 0, 0.3)
    if levels:
        distances = np.round(distances * levels) / levels
    return make_search(distances.astype(np.float32), query, gallery)


def pairs(search):
    """Distances of all pairs that count, of one identity and of two, by plain loops."""
    same, different = [], []
    distances = search.distances(0, len(search.query))
    for row in range(len(search.query)):
        for column in range(len(search.gallery)):
            pid, camid = search.gallery.pids[column], search.gallery.camids[column]
            is_same = pid == search.query.pids[row]
            if pid == -1 or (is_same and camid == search.query.camids[row]):
                continue
            (same if is_same else different).append(float(distances[row, column]))
    return np.array(same), np.array(different)


def plain_points(same, different):
    """FPR and TPR at every distance that occurs, as a threshold, and (0, 0) before."""
    thresholds = np.unique(np.concatenate([same, different]))
    points = [(0.0, 0.0)]
    points += [(np.mean(different <= t), np.mean(same <= t)) for t in thresholds]
    return points


def plain_eer(points):
    """Where straight lines between the points meet FPR = 1 - TPR."""
    for (fpr_a, tpr_a), (fpr_b, tpr_b) in itertools.pairwise(points):
        before, after = fpr_a - (1 - tpr_a), fpr_b - (1 - tpr_b)
        if after >= 0:
            return fpr_a + (fpr_b - fpr_a) * -before / (after - before)
    raise AssertionError("the curve ends at (1, 1)")


SEARCHES = st.builds(
    random_search,
    seed=st.integers(0, 2**32 - 1),
    num_query=st.integers(1, 12),
    num_gallery=st.integers(1, 40),
    levels=st.sampled_from([None, 2, 10]),
)


@settings(max_examples=80, deadline=None)
@given(search=SEARCHES)
def test_figures_equal_plain_loops_over_all_pairs_even_with_ties(search):
    same, different = pairs(search)
    if not len(same) or not len(different):
        with pytest.raises(DataError, match="expected at least one of each"):
            verify(search)
        return
    found = verify(search)
    assert (found.num_same, found.num_different) == (len(same), len(different))
    wins = (same[:, None] < different) + 0.5 * (same[:, None] == different)
    assert found.auc == pytest.approx(wins.mean(), abs=1e-12)
    points = plain_points(same, different)
    assert found.eer == pytest.approx(plain_eer(points), abs=1e-12)
    for name, tpr in found.tpr_at_fpr.items():
        best = max(tpr for fpr, tpr in points if fpr <= float(name))
        assert tpr == pytest.approx(best, abs=1e-12)
        threshold = found.threshold_at_fpr.get(name)
        assert (threshold is None) == (best == 0)
        if threshold is not None:
            assert np.mean(same <= threshold) == pytest.approx(tpr, abs=1e-12)
            assert np.mean(different <= threshold) <= float(name)


@settings(max_examples=40, deadline=None)
@given(search=SEARCHES)
def test_the_curve_runs_through_the_points_of_plain_loops_and_encloses_the_auc(search):
    same, different = pairs(search)
    if not len(same) or not len(different):
        return
    found = verify(search)
    assert (found.fpr[0], found.tpr[0]) == (0, 0)
    assert (found.fpr[-1], found.tpr[-1]) == (1, 1)
    for fpr, tpr, threshold in zip(found.fpr, found.tpr, found.thresholds, strict=True):
        assert fpr == pytest.approx(np.mean(different <= threshold), abs=1e-12)
        assert tpr == pytest.approx(np.mean(same <= threshold), abs=1e-12)
    assert np.trapezoid(found.tpr, found.fpr) == pytest.approx(found.auc, abs=1e-12)


def test_the_golden_curve_is_met_the_right_way_round(golden):
    found = verify(
        make_search(
            golden["cosine_dist"],
            Labels(golden["q_pids"], golden["q_cams"]),
            Labels(golden["g_pids"], golden["g_cams"]),
        )
    )
    assert found.auc == pytest.approx(float(golden["roc/auc"]), abs=1e-6)
    for name, key in (("1e-3", "0.001"), ("1e-2", "0.01"), ("1e-1", "0.1")):
        expected = float(golden[f"roc/tpr_at_fpr={key}"])
        assert found.tpr_at_fpr[name] == pytest.approx(expected, abs=1e-6)


def test_a_hand_made_example():
    # Of 4 pairs of two identities, .25 and .5 are nearer than the farthest pair of one.
    counts = roc_counts(one_query([0.1, 0.2, 0.6], [0.25, 0.5, 0.7, 0.8]))
    assert counts.auc() == pytest.approx((4 + 4 + 2) / 12)
    assert counts.at_most_fpr(0.0).threshold == pytest.approx(0.2)
    assert counts.at_most_fpr(0.49).tpr == pytest.approx(2 / 3)
    assert counts.at_most_fpr(0.5).tpr == 1.0
    assert counts.at_least_tpr(0.67).threshold == pytest.approx(0.6)
    assert counts.at_least_tpr(0.66).threshold == pytest.approx(0.2)
    # From (1/4, 2/3) to (2/4, 2/3) the curve is flat: FPR = 1/3 there.
    assert counts.equal_error().fpr == pytest.approx(1 / 3)
    assert 0.2 <= counts.equal_error().threshold <= 0.6


def test_perfect_inverted_and_useless_distances_have_the_areas_of_the_textbook():
    assert verify(one_query([0.1], [0.2, 0.3])).auc == 1.0
    assert verify(one_query([0.1], [0.2, 0.3])).eer == 0.0
    assert verify(one_query([0.4], [0.2, 0.3])).auc == 0.0
    assert verify(one_query([0.4], [0.2, 0.3])).eer == 1.0
    tied = verify(one_query([0.5, 0.5], [0.5] * 7))
    assert tied.auc == 0.5
    assert tied.eer == pytest.approx(0.5)
    assert tied.tpr_at_fpr == {"1e-4": 0.0, "1e-3": 0.0, "1e-2": 0.0, "1e-1": 0.0}
    assert tied.threshold_at_fpr == {}


def test_a_rate_that_floats_round_down_allows_as_many_pairs_as_it_says():
    # 0.29 * 100 is 28.999999999999996.
    counts = roc_counts(one_query([28.5, 29.5], range(1, 101)))
    assert counts.at_most_fpr(0.29).tpr == 1.0
    assert counts.at_most_fpr(0.28).tpr == 0.5


def test_the_block_size_changes_nothing(monkeypatch):
    search = random_search(3, levels=20)
    whole = verify(search)
    monkeypatch.setattr(pair_blocks, "PAIR_VALUES", 1)
    monkeypatch.setattr(pair_blocks, "MIN_BLOCK_SIZE", 5)
    assert verify(search) == whole


def test_the_histogram_counts_every_pair_once():
    search = random_search(4)
    same, different = pairs(search)
    spread = roc_counts(search).histogram
    edges = np.array(spread.edges, dtype=np.float32)
    np.testing.assert_array_equal(spread.same, np.histogram(same, edges)[0])
    np.testing.assert_array_equal(spread.different, np.histogram(different, edges)[0])
    assert (sum(spread.same), sum(spread.different)) == (len(same), len(different))


def test_a_long_curve_is_thinned_but_keeps_its_ends_and_its_shape_on_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    counts = roc_counts(one_query(rng.normal(0, 1, 4000), rng.normal(2, 1, 20_000)))
    fpr, tpr, thresholds = counts.curve()
    assert len(fpr) == len(tpr) == len(thresholds) <= 500
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0)
    assert np.all(np.diff(tpr) >= 0)
    assert np.trapezoid(tpr, fpr) == pytest.approx(counts.auc(), abs=2e-3)
    for rate in (1e-3, 1e-2, 1e-1):
        near = int(np.searchsorted(fpr, rate))
        assert fpr[near] < 1.3 * rate


def test_several_searches_give_means_of_figures_and_sums_of_pairs():
    parts = [roc_counts(random_search(seed)) for seed in (5, 6)]
    edges = parts[0].histogram.edges
    parts[1] = roc_counts(random_search(6), edges=edges)
    found = verification_of(parts)
    assert found.auc == pytest.approx((parts[0].auc() + parts[1].auc()) / 2)
    assert found.num_same == parts[0].num_same + parts[1].num_same
    assert sum(histogram_of(parts).same) == found.num_same
    assert histogram_of(parts).edges == edges


def test_without_pairs_of_two_identities_the_message_counts():
    search = make_search(
        np.array([[0.1, 0.2]]),
        Labels(np.array([1]), np.array([0])),
        Labels(np.array([1, 1]), np.array([1, 1])),
        no_camera(),
    )
    with pytest.raises(DataError) as caught:
        verify(search)
    assert "2 pairs of one identity and 0 of two count under protocol no_camera" in str(
        caught.value
    )
