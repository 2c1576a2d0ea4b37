import pytest
from pydantic import TypeAdapter

from reid_core.report.records import Results
from reid_core.report.summary import best_sentence, final_rows, headlines


@pytest.fixture
def results(make_evaluation):
    def build(*evaluations, best=None):
        entries = [make_evaluation(**one) for one in evaluations]
        raw = {"schema": 1, "evaluations": entries, "best": best}
        return TypeAdapter(Results).validate_python(raw)

    return build


def test_first_and_last_evaluation_are_compared(results):
    found = results({"step": 0, "value": 0.1}, {"step": 9, "value": 0.2}, {"step": 20})
    [headline] = headlines(found)
    assert (headline.before.step, headline.after.step) == (0, 20)
    assert headline.changes[0].difference == "+31.0 points"


def test_different_protocols_distances_and_data_sets_are_not_mixed(results):
    found = results(
        {"step": 0},
        {"step": 20},
        {"step": 20, "distance": "euclidean"},
        {"step": 20, "protocol": "no_camera"},
        {"step": 20, "dataset": "other"},
    )
    made = headlines(found)
    assert [headline.before is not None for headline in made] == [True, False, False, False]
    assert len(final_rows(found)) == 4


def test_the_headline_is_of_the_last_weights(results):
    found = results({"step": 20, "value": 0.3}, {"step": 10, "value": 0.5, "weights": "best"})
    [headline] = headlines(found)
    assert headline.after.metrics["mAP"] == 0.3
    assert headline.when_after == "step 20, epoch 0.5, last weights"
    assert [row.label.split(",")[1] for row in final_rows(found)] == [
        " last weights",
        " best weights",
    ]


def test_figures_of_a_file_of_embeddings_have_no_step(results):
    found = results({"step": 0, "weights": "embeddings mine.npz"})
    assert headlines(found)[0].when_after == "embeddings mine.npz"
    assert [row.label for row in final_rows(found)] == ["embeddings mine.npz"]


def test_a_single_evaluation_has_no_before(results):
    [headline] = headlines(results({"step": 0}))
    assert headline.before is None
    assert headline.changes[0].before == ""


def test_the_best_evaluation_gets_a_row_unless_it_is_a_final_one(results):
    evaluations = [{"step": 10, "value": 0.5}, {"step": 20, "value": 0.4}]
    early = {"dataset": "synthetic", "metric": "mAP", "value": 0.5, "step": 10}
    late = {"dataset": "synthetic", "metric": "mAP", "value": 0.4, "step": 20}
    assert len(final_rows(results(*evaluations, best=early))) == 2
    assert len(final_rows(results(*evaluations, best=late))) == 1


def test_a_best_value_without_its_evaluation_claims_no_protocol(results):
    best = {"dataset": "synthetic", "metric": "mAP", "value": 0.7, "step": 5}
    assert "70.0 % on synthetic at step 5 (protocol not recorded)" in best_sentence(
        results({"step": 20}, best=best)
    )
    assert best_sentence(results({"step": 20})) == ""


def test_counts_that_were_not_recorded_are_not_invented(results):
    [row] = final_rows(results({"num_queries": None, "num_valid_queries": None}))
    assert (row.used, row.skipped) == ("—", "—")


def test_rows_show_the_same_metrics_even_where_one_lacks_some(results):
    found = results({"metrics": {"mAP": 0.1}}, {"dataset": "b", "metrics": {"rank1": 0.2}})
    assert [row.metrics for row in final_rows(found)] == [
        (("mAP", "10.0 %"), ("rank-1", "—")),
        (("mAP", "—"), ("rank-1", "20.0 %")),
    ]


def test_no_evaluations_give_no_rows(results):
    assert headlines(results()) == ()
    assert final_rows(results()) == ()
