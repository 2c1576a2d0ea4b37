import itertools
import tracemalloc

import numpy as np
import pytest

import reid_core.evaluation.metrics.comparison as comparison
from reid_core.errors import DataError
from reid_core.evaluation import compare_runs


def test_the_difference_is_that_of_the_means_and_has_the_interval_of_paired_identities():
    rng = np.random.default_rng(0)
    pids = np.repeat(np.arange(30), 2)
    a = rng.random(60)
    found = compare_runs(a, a + 0.1, pids)
    assert found.difference == pytest.approx(0.1)
    assert found.mean_b - found.mean_a == pytest.approx(found.difference)
    # The runs differ alike on all queries, so nothing is unsure, however hard the queries are.
    assert (found.interval.low, found.interval.high) == pytest.approx((0.1, 0.1))
    # None of 10,000 changes of signs comes as far, and the observed one is possible itself.
    assert found.p_value == 1 / 10_001
    assert (found.num_queries, found.num_identities) == (60, 30)


def test_with_few_identities_every_change_of_signs_is_tried():
    pids = [1, 1, 2, 3, 4]
    a, b = np.zeros(5), np.array([0.1, 0.2, 0.4, -0.1, 0.05])
    sums = np.array([0.3, 0.4, -0.1, 0.05])
    changed = [abs(np.dot(signs, sums)) for signs in itertools.product((1, -1), repeat=4)]
    expected = np.mean([value >= abs(sums.sum()) - 1e-12 for value in changed])
    assert compare_runs(a, b, pids).p_value == expected


def test_a_sample_of_sign_changes_comes_near_the_exact_test(monkeypatch):
    rng = np.random.default_rng(4)
    a, b = rng.random(11), rng.random(11) + 0.15
    exact = compare_runs(a, b, np.arange(11)).p_value
    monkeypatch.setattr(comparison, "_EXACT_IDENTITIES", 0)
    assert compare_runs(a, b, np.arange(11)).p_value == pytest.approx(exact, abs=0.02)


def test_both_directions_count_alike():
    rng = np.random.default_rng(6)
    a, b, pids = rng.random(60), rng.random(60) + 0.1, np.arange(60) // 2
    forth, back = compare_runs(a, b, pids), compare_runs(b, a, pids)
    assert back.difference == pytest.approx(-forth.difference)
    assert back.p_value == forth.p_value < 1
    assert (back.interval.low, back.interval.high) == pytest.approx(
        (-forth.interval.high, -forth.interval.low)
    )


def test_the_interval_is_made_of_as_many_resamples_as_the_test_has_of_changes():
    rng = np.random.default_rng(1)
    a, b, pids = rng.random(4000), rng.random(4000), np.arange(4000)
    tracemalloc.start()
    found = compare_runs(a, b, pids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.interval.num_resamples == 10_000
    # All weights at once would take 320 MB.
    assert peak < 200e6


def test_equal_runs_differ_by_nothing():
    ap = [0.5, None, 0.25]
    found = compare_runs(ap, ap, ["a", "b", "b"])
    assert (found.difference, found.p_value, found.num_queries) == (0.0, 1.0, 2)


def test_p_values_of_runs_that_do_not_differ_are_spread_evenly():
    p_values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        pids = np.repeat(np.arange(20), 3)
        shared = rng.normal(0, 0.1, 20).repeat(3)
        a, b = rng.random(60), rng.random(60)
        p_values.append(
            compare_runs(a, b + shared, pids, num_resamples=1, num_permutations=200).p_value
        )
    assert 0.01 <= np.mean(np.array(p_values) <= 0.05) <= 0.1


def test_the_seed_repeats_the_draws():
    rng = np.random.default_rng(0)
    problem = rng.random(40), rng.random(40), np.arange(40)
    assert compare_runs(*problem, seed=3) == compare_runs(*problem, seed=3)
    assert compare_runs(*problem, seed=3) != compare_runs(*problem, seed=4)


@pytest.mark.parametrize(
    ("ap_b", "pids_b", "message"),
    [
        ([1.0], None, "2 and 1 queries with 2 and 2 pids; expected one of each a query"),
        (
            [1.0, 0.5],
            ["a", "c"],
            "1 of 2 queries show another identity, the first is query 1, b and c; evaluate both "
            "on the same test set under the same protocol",
        ),
        ([1.0, None], None, "1 of 2 queries are skipped in one run only, the first is query 1"),
    ],
)
def test_runs_on_other_queries_are_refused(ap_b, pids_b, message):
    with pytest.raises(DataError) as caught:
        compare_runs([1.0, 0.5], ap_b, ["a", "b"], pids_b)
    assert message in str(caught.value)


def test_runs_without_any_figure_are_refused():
    with pytest.raises(DataError, match="none of the 1 queries has a figure"):
        compare_runs([None], [None], ["a"])
