import math

from reid_core.report.numbers import (
    change_text,
    count_text,
    metric_name,
    metric_order,
    metric_text,
    when_text,
)


def test_retrieval_metrics_are_percent_and_others_are_not():
    assert metric_text("mAP", 0.4136) == "41.4 %"
    assert metric_text("rank20", 1.0) == "100.0 %"
    assert metric_text("threshold", 0.4136) == "0.4136"


def test_unknown_and_not_finite_values_differ():
    assert metric_text("mAP", None) == "—"
    assert metric_text("mAP", math.nan) == "not finite"
    assert metric_text("mAP", -math.inf) == "not finite"


def test_changes_are_signed_points():
    assert change_text(0.25, 0.5) == "+25.0 points"
    assert change_text(0.5, 0.25) == "-25.0 points"
    assert change_text(None, 0.5) == ""
    assert change_text(math.nan, 0.5) == ""


def test_metrics_come_in_their_usual_order():
    names = ["zeta", "rank10", "rank1", "mINP", "mAP", "rank5", "alpha"]
    expected = ["mAP", "mINP", "rank1", "rank5", "rank10", "alpha", "zeta"]
    assert sorted(names, key=metric_order) == expected


def test_names_counts_and_moments_are_written_for_people():
    assert metric_name("rank10") == "rank-10"
    assert metric_name("ranking") == "ranking"
    assert count_text(15913) == "15\u202f913"
    assert count_text(None) == "—"
    assert when_text(200, 5.0) == "step 200, epoch 5"
    assert when_text(200, None) == "step 200"
