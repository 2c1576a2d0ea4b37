from reid_core.report.charts import MAX_SERIES, charts
from reid_core.report.metrics import Metrics, parse_metrics
from reid_core.report.records import Evaluation, Results, Series


def evaluation(step, value, **changes):
    fields = {"dataset": "d", "protocol": "market1501", "distance": "cosine", **changes}
    return Evaluation(step=step, metrics={"mAP": value}, **fields)


def test_the_total_loss_comes_first_and_its_parts_follow():
    metrics = parse_metrics(['{"step": 1, "loss/a": 1, "loss/b": 2, "loss": 3, "lr": 0.1}'])
    loss, lr = charts(metrics, None)
    assert [entry.name for entry in loss.legend] == ["loss", "loss/a", "loss/b"]
    assert [entry.last for entry in loss.legend] == ["3", "1", "2"]
    assert lr.title == "Learning rate"


def test_evaluations_missing_from_the_log_are_added_from_the_results():
    metrics = parse_metrics(['{"step": 20, "d/mAP": 0.5}'])
    best = evaluation(10, 0.9, weights="best")
    results = Results(schema=1, evaluations=(evaluation(0, 0.1), evaluation(20, 0.5), best))
    [chart] = charts(metrics, results)
    assert chart.svg.count("<circle") == 2
    [entry] = chart.legend
    assert (entry.name, entry.last) == ("d", "50 %")
    assert entry.detail == "protocol market1501, cosine distance"


def test_data_sets_with_a_slash_in_their_name_keep_it():
    [chart] = charts(parse_metrics(['{"step": 1, "a/b/rank1": 0.25}']), None)
    assert (chart.title, chart.legend[0].name, chart.legend[0].last) == ("rank-1", "a/b", "25 %")


def test_more_curves_than_styles_are_cut_and_counted():
    names = ["loss", *(f"loss/{n}" for n in range(MAX_SERIES + 1))]
    [chart] = charts(Metrics({name: Series(name, (1,), (1.0,)) for name in names}), None)
    assert len(chart.legend) == MAX_SERIES
    assert chart.notes == ("2 more in metrics.jsonl are not drawn.",)


def test_gaps_are_counted_before_thinning():
    rows = [f'{{"step": {n}, "loss": {"NaN" if n % 2 else 1}}}' for n in range(2000)]
    [chart] = charts(parse_metrics(rows), None)
    assert chart.notes[0].startswith(
        "loss: 1000 of 2000 values are not finite, the first at step 1"
    )
    assert chart.legend[0].last == "not finite"


def test_figures_after_reranking_are_no_point_of_a_curve():
    after = evaluation(20, 0.9, postprocessing=("re-ranking",))
    [chart] = charts(Metrics(), Results(schema=1, evaluations=(evaluation(20, 0.5), after)))
    assert chart.legend[0].last == "50 %"
