import json

from reid_core.report import write_report
from reid_core.report.page import flatten


def test_headline_numbers_stand_beside_protocol_and_distance(full_run, parse):
    text = parse(write_report(full_run)).text
    assert "mAP 5.2 % → 41.0 % protocol market1501, cosine distance +35.8 points" in text
    assert "rank-1 25.2 % → 61.0 % protocol market1501, cosine distance +35.8 points" in text
    assert "From before training (step 0) to step 200, epoch 5, last weights." in text


def test_the_best_value_is_named_with_its_step_and_protocol(full_run, parse):
    text = parse(write_report(full_run)).text
    assert (
        "Best mAP of the run: 45.2 % on synthetic at step 120 (protocol market1501, cosine" in text
    )


def test_the_final_table_counts_queries_used_and_skipped(full_run, parse):
    page = parse(write_report(full_run))
    labels = [attrs.get("data-label") for attrs in page.tags("td")]
    assert labels.count("Queries skipped") == 2
    final = "final, last weights, step 200, epoch 5 41.0 % 20.0 % 61.0 % 80.0 % 90.0 %"
    assert f"synthetic {final} market1501 cosine 237 3 7\u202f200".replace("\u202f", " ") in (
        page.text
    )
    assert "best by mAP, step 120, epoch 3 45.2 %" in page.text


def test_right_and_wrong_answers_are_marked_in_words(full_run, parse):
    page = parse(write_report(full_run))
    assert len(page.with_class("right")) == 2
    assert len(page.with_class("wrong")) == 4
    # Once more each in the sentence that explains the marks.
    assert page.text.count("✓ right") == 3
    assert page.text.count("✗ wrong") == 5
    assert "1. ✓ right id 1 camera 2 distance 0.100" in page.text


def test_galleries_are_labelled_with_selection_and_average_precision(full_run, parse):
    text = parse(write_report(full_run)).text
    measured = "on synthetic, protocol market1501, cosine distance"
    assert f"best AP 92.0 % {measured} One of the queries with the highest" in text
    assert f"worst AP 3.1 % {measured} One of the queries with the lowest" in text
    assert f"random AP not defined {measured} A query drawn at random" in text


def test_a_missing_image_is_replaced_by_its_name(full_run, parse):
    page = parse(write_report(full_run))
    assert len(page.with_class("noimage")) == 1
    assert "file not found: gone <b>.png" in page.text
    assert len(page.tags("img")) == 8


def test_state_components_environment_and_config_are_shown(full_run, parse):
    text = parse(write_report(full_run)).text
    assert "completed steps 200" in text
    component = "backbones osnet<1> reid-plugin-osnet 0.1.0 reid_plugin_osnet.osnet:osnet_x1_0"
    assert component in text
    assert "gpus H200 & co, T4 cuda.driver 1" in text
    assert "homepage: https://example.org/" in text


def test_the_config_is_folded_away(full_run, parse):
    assert parse(write_report(full_run)).tags("details") == [{}]


def test_metrics_that_are_not_finite_are_called_so(tmp_path, write_run, make_evaluation, parse):
    metrics = {"mAP": float("nan"), "rank1": None, "mINP": float("inf")}
    rows = [{"step": n, "loss": float("nan") if n > 3 else 1.0 / n} for n in range(1, 6)]
    results = {"schema": 1, "evaluations": [make_evaluation(metrics=metrics)], "best": None}
    page = parse(write_report(write_run(tmp_path / "run", metrics=rows, results=results)))
    assert "mAP not finite protocol market1501" in page.text
    assert "rank-1 — protocol market1501" in page.text
    assert "loss: 2 of 5 values are not finite, the first at step 4" in page.text
    drawn = [attrs.get("d", "") for attrs in page.tags("path")]
    assert not any("nan" in path or "inf" in path for path in drawn)


def test_a_run_under_way_has_curves_and_says_that_results_are_missing(tmp_path, write_run, parse):
    run = write_run(tmp_path / "run", metrics=[{"step": 1, "loss": 2.0, "lr": 1e-3}])
    page = parse(write_report(run))
    assert len(page.with_class("chart")) == 2
    assert "results.json is missing: no evaluation was made yet" in page.text


def test_flatten_joins_nested_keys_and_keeps_empty_ones():
    values = json.loads('{"a": {"b": 1, "c": {"d": null}}, "e": {}, "f": "é", "g": true}')
    assert flatten(values) == (
        ("a.b", "1"),
        ("a.c.d", "null"),
        ("e", "{}"),
        ("f", "é"),
        ("g", "true"),
    )


def test_caveats_of_the_figures_are_told_once(full_run, parse):
    path = full_run / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    for one in results["evaluations"]:
        one["caveats"] = ["3 identities <are> trained on"]
    path.write_text(json.dumps(results), encoding="utf-8")
    text = parse(write_report(full_run)).text
    assert text.count("synthetic : 3 identities <are> trained on") == 1
