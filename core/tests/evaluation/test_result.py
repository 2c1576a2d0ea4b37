import numpy as np
import pytest

from reid_core.errors import UsageError
from reid_core.evaluation import Labels, evaluate_distances, market1501


def result():
    return evaluate_distances(
        np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]),
        Labels(np.array([1, 2, 9]), np.array([0, 0, 0])),
        Labels(np.array([1, 2, 2, 3]), np.array([1, 1, 1, 1])),
        protocol=market1501(),
    )


def test_scalars_are_the_headline_figures_as_fractions():
    scalars = result().scalars()
    assert list(scalars) == ["mAP", "mINP", "rank1", "rank5", "rank10"]
    assert scalars["rank1"] == 0.5
    assert scalars["rank5"] == scalars["rank10"] == 1.0
    # Query 0 finds its match first; query 1 has its two at ranks 2 and 3.
    assert scalars["mAP"] == pytest.approx((1 + (1 / 2 + 2 / 3) / 2) / 2)
    assert scalars["mINP"] == pytest.approx((1 + 2 / 3) / 2)


def test_case_b051_matches_a_query_and_chance_are_known():
    figures = result()
    assert figures.num_matches.tolist() == [1, 2, 0]
    assert figures.mean_matches == 1.5
    assert figures.chance_rank1 == pytest.approx((1 / 4 + 2 / 4) / 2)


def test_the_summary_prints_the_rule_and_the_counts_beside_the_figures():
    summary = result().summary()
    assert "rank1 50.00" in summary
    assert f"protocol market1501: {market1501().description}" in summary
    assert "given distance" in summary
    assert "2 of 3 queries valid, 1 skipped; 4 gallery entries, 1.5 matches a query" in summary


@pytest.mark.parametrize("k", [0, -1, 51])
def test_a_rank_that_was_not_evaluated_is_refused(k):
    with pytest.raises(UsageError, match=rf"rank {k} was not evaluated; expected 1 to 50"):
        result().rank(k)
