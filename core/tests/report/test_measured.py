import pytest

from reid_core.report.measured import MAX_IDENTITIES, measured_sets, warnings_of


@pytest.fixture
def measured(read_details):
    return lambda *entries, results=None: measured_sets(read_details(*entries), results)


def texts(rows):
    return {row.name: [cell.value for cell in row.cells] for row in rows}


def test_plain_and_reranked_figures_are_rows_of_their_own_with_intervals(
    measured, make_detail, make_reranked
):
    [one] = measured(make_detail(), make_reranked())
    assert one.columns == ("mAP", "mINP", "rank-1", "rank-5", "rank-10")
    # By the names of ``reid-eval --min``.
    assert {"chance_rank1", "recall@20", "tpr@fpr=1e-3"} <= {row.name for row in one.others}
    plain, after = one.rows
    assert plain.name == "plain"
    assert (plain.cells[0].value, plain.cells[0].interval) == ("74.2 %", "72.4 to 75.8 %")
    assert after.name.startswith("after k-reciprocal")
    assert after.cells[0].value == "83.2 %"
    assert one.interval_note == (
        "Below each figure: 95 % bootstrap interval over identities, 1\u202f000 resamples."
    )


def test_figures_that_are_not_defined_are_called_so(measured, make_detail):
    [one] = measured(make_detail(metrics={"mAP": None, "auc": float("nan")}, intervals={}))
    assert one.rows[0].cells[0].value == "not defined"
    assert texts(one.others)["auc"] == ["not defined"]
    assert one.interval_note == "No confidence intervals were made."


def test_every_other_figure_is_listed_once(measured, make_detail, make_reranked):
    [one] = measured(make_detail(), make_reranked())
    found = texts(one.others)
    assert one.variants == ("plain", "re-ranked")
    assert found["mAP_trapezoid"] == ["73.8 %", "82.8 %"]
    assert found["tpr@fpr=1e-3"] == ["71.0 %", "71.0 %"]
    assert found["fnir@fpir=1e-2"] == ["41.0 %", "—"]
    assert found["queries without a mate"] == ["368", "—"]
    assert len(found) == len(one.others)
    assert "mAP" not in found


def test_metrics_with_numbers_are_in_the_order_of_the_numbers(measured, make_detail):
    [one] = measured(make_detail(metrics={f"recall@{k}": 0.1 for k in (10, 2, 100, 1)}))
    names = [row.name for row in one.others if row.name.startswith("recall")]
    assert names == ["recall@1", "recall@2", "recall@10", "recall@100"]


def test_the_worst_identities_come_first_and_are_few(measured, make_detail):
    entries = [{"pid": str(n), "ap": n / 1000, "num_queries": 2} for n in reversed(range(1000))]
    [one] = measured(make_detail(identities=entries))
    assert len(one.identities) == MAX_IDENTITIES
    assert one.identities[0] == ("0", "0.0 %", "2")
    assert one.num_identities == "1\u202f000"


def test_bars_of_failures_are_as_long_as_their_counts(measured, make_detail):
    failures = [
        {"reason": "near_miss", "explanation": "A match is near.", "count": 40},
        {"reason": "lost", "explanation": "", "count": 10},
        {"reason": "never", "explanation": "", "count": 0},
    ]
    [one] = measured(make_detail(failures=failures))
    assert [(bar.reason, bar.count, bar.length) for bar in one.failures] == [
        ("near miss", "40", 100),
        ("lost", "10", 25),
    ]


def test_drawings_follow_what_was_measured(measured, make_detail, make_reranked):
    [full] = measured(make_detail(), make_reranked())
    assert [one.title.split(" (")[0] for one in full.drawings] == [
        "CMC",
        "ROC",
        "Distances, plain",
        "Distances, after k-reciprocal re-ranking",
        "Map of embeddings",
    ]
    bare = make_detail(cmc=[], verification=None, histogram=None, map=None, camera_pairs=None)
    [empty] = measured(bare)
    assert empty.drawings == ()
    assert empty.cameras == ()


def test_an_axis_that_does_not_begin_at_zero_is_said(measured, make_detail):
    [one] = measured(make_detail())
    assert one.drawings[0].notes == ("The axis of values begins at 85 %.",)


def test_warnings_are_told_once(read_details, make_detail):
    found = warnings_of(read_details(*[make_detail(warnings=["tied", "collapsed"])] * 2))
    assert found == (("market1501", "tied"), ("market1501", "collapsed"))
