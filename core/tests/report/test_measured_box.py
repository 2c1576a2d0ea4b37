import pytest
from pydantic import TypeAdapter

from reid_core.report.measured import measured_sets
from reid_core.report.records import Results


@pytest.fixture
def measured(read_details):
    return lambda *entries, results=None: measured_sets(read_details(*entries), results)


def test_the_box_says_how_it_was_measured(measured, make_detail, make_reranked):
    [one] = measured(make_detail(), make_reranked())
    box = dict(one.box)
    assert box["protocol"] == "market1501"
    assert box["rule"].startswith("gallery entries of the query's identity")
    assert box["distance"] == "cosine"
    assert box["features"] == "flip averaged, L2-normalised"
    assert box["post-processing"].startswith("none; after k-reciprocal re-ranking (k1=20")
    assert box["draws"] == "one"
    assert (box["queries used"], box["queries skipped"]) == ("199", "1")
    assert box["gallery entries"] == "15\u202f913"
    assert box["chance level"] == "rank-1 0.12 %, mAP 0.09 %"
    assert box["threshold"] == (
        "0.58 for fpr=1e-3, chosen on market1501 validation; here TPR 70.2 %, FPR 0.11 %"
    )


def test_the_threshold_says_how_many_pairs_it_accepts(measured, make_detail):
    counts = {"num_same": 600, "accepted_same": 182, "num_different": 42480}
    rates = {"tpr": 182 / 600, "fpr": 499 / 42480, **counts, "accepted_different": 499}
    [one] = measured(make_detail(threshold_rates=rates))
    assert dict(one.box)["threshold"].endswith(
        "; here TPR 30.3 % (182 of 600 pairs of one identity), "
        "FPR 1.2 % (499 of 42\u202f480 pairs of two)"
    )


def test_draws_are_counted(measured, make_detail):
    [one] = measured(make_detail(num_trials=10))
    assert dict(one.box)["draws"] == "mean of 10"


def test_counts_come_from_the_results_where_details_lack_them(
    measured, make_detail, make_evaluation
):
    entry = make_evaluation(1200, dataset="market1501")
    results = TypeAdapter(Results).validate_python({"schema": 1, "evaluations": [entry]})
    lacking = make_detail(num_queries=0, num_valid_queries=0, num_gallery=0)
    [one] = measured(lacking, results=results)
    assert dict(one.box)["queries skipped"] == "3"
    [alone] = measured(lacking)
    assert dict(alone.box)["queries skipped"] == "—"
