import numpy as np
import pytest

import reid_core.evaluation.metrics.intervals as intervals
from reid_core.errors import UsageError
from reid_core.evaluation import bootstrap_intervals


def plain_bootstrap(values, pids, num_resamples, seed):
    """Draw identities, put all of their queries together, take the mean; again and again."""
    names = sorted(set(pids.tolist()))
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    drawn = generator.integers(0, len(names), size=(num_resamples, len(names)))
    means = []
    for row in drawn:
        queries = [value for at in row for value in values[pids == names[at]].tolist()]
        means.append(np.mean(queries))
    return np.quantile(means, [0.025, 0.975])


def test_intervals_equal_a_plain_bootstrap_of_identities_with_all_their_queries():
    rng = np.random.default_rng(1)
    pids = rng.integers(0, 9, 40)
    values = {"mAP": rng.random(40), "rank1": (rng.random(40) < 0.6).astype(float)}
    found = bootstrap_intervals(values, pids, num_resamples=200, seed=5)
    for name, column in values.items():
        low, high = plain_bootstrap(column, pids, 200, 5)
        assert found[name].low == pytest.approx(low, abs=1e-12)
        assert found[name].high == pytest.approx(high, abs=1e-12)
        assert (found[name].level, found[name].num_resamples) == (0.95, 200)


def test_skipped_queries_count_for_nothing():
    rng = np.random.default_rng(2)
    values, pids = rng.random(30), rng.integers(0, 6, 30)
    longer = np.append(values, [np.nan, np.nan])
    with_skipped = bootstrap_intervals({"mAP": longer}, np.append(pids, [3, 99]), seed=1)
    assert with_skipped == bootstrap_intervals({"mAP": values}, pids, seed=1)


def test_a_seed_repeats_its_draws_however_many_fit_into_a_step(monkeypatch):
    rng = np.random.default_rng(3)
    values, pids = {"mAP": rng.random(50)}, rng.integers(0, 20, 50)
    once = bootstrap_intervals(values, pids, seed=7)
    assert bootstrap_intervals(values, pids, seed=7) == once
    assert bootstrap_intervals(values, pids, seed=8) != once
    monkeypatch.setattr(intervals, "_STEP_VALUES", 100)
    assert bootstrap_intervals(values, pids, seed=7) == once


def test_queries_of_one_identity_are_not_taken_for_independent():
    # 10 identities whose 50 queries are all alike: as sure as 10 queries, not as 500.
    means = np.linspace(0, 1, 10)
    pids = np.repeat(np.arange(10), 50)
    found = bootstrap_intervals({"mAP": np.repeat(means, 50)}, pids)["mAP"]
    alone = bootstrap_intervals({"mAP": means}, np.arange(10))["mAP"]
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))
    assert found.high - found.low > 0.3


def test_about_95_of_100_intervals_hold_the_true_value():
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values = np.clip(rng.normal(0.5, 0.15, 60).repeat(3) + rng.normal(0, 0.1, 180), 0, 1)
        found = bootstrap_intervals(
            {"mAP": values}, np.arange(60).repeat(3), num_resamples=300, seed=seed
        )["mAP"]
        hits += found.low <= 0.5 <= found.high
    assert 88 <= hits <= 99


def test_a_figure_without_queries_has_no_interval():
    assert bootstrap_intervals({"mAP": np.full(3, np.nan)}, np.arange(3)) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": 1.0}, "level is 1; expected a share above 0 and below 1, such as 0.95"),
        ({"num_resamples": 0}, "num_resamples is 0; expected at least 1"),
        ({"pids": np.arange(2)}, "there are 3 values a figure and 2 pids"),
    ],
)
def test_wrong_parameters_are_named(changes, message):
    with pytest.raises(UsageError, match=message):
        bootstrap_intervals({"mAP": np.ones(3)}, **{"pids": np.arange(3), **changes})
