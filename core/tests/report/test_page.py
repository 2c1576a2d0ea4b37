import json

from reid_core.report import write_report
from reid_core.report.page import flatten


def test_headline_numbers_stand_beside_protocol_and_distance(full_run, parse):
    text = parse(write_report(full_run)).text
    assert "mAP 5.2 % → 41.0 % protocol market1501, cosine distance +35.8 points" in text
    assert "rank-1 25.2 % → 61.0 % protocol market1501, cosine distance +35.8 points" in text
    assert "From before training (step 0) to step 200, epoch 5, last weights." in text


def test_the_number_of_the_process_is_not_called_a_pid(full_run, parse):
    status = {"state": "completed", "pid": 4711, "step": 20, "reason": None}
    (full_run / "status.json").write_text(json.dumps(status))
    text = parse(write_report(full_run)).text
    assert "completed process 4711 step 20" in text
    assert "reason" not in text.partition("Outcome")[0]


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
    assert "1 ✓ right 1 · 2 0.100" in page.text
    titles = [attrs.get("title") for attrs in page.tags("span")]
    assert titles.count("distance 0.100, similarity 0.900") == 3
    assert titles.count("id 12, camera 3") == 3


def test_galleries_are_labelled_with_selection_and_average_precision(full_run, parse):
    text = parse(write_report(full_run)).text
    measured = "on synthetic, protocol market1501, cosine distance, order: plain"
    assert f"best AP 92.0 % {measured} One of the queries with the highest" in text
    assert f"worst AP 3.1 % {measured} One of the queries with the lowest" in text
    assert f"random AP not defined {measured} A query drawn at random" in text


def test_a_missing_image_is_replaced_by_its_name(full_run, parse):
    page = parse(write_report(full_run))
    assert len(page.with_class("noimage")) == 1
    assert page.text.count("gone <b>.png") == 1
    assert page.text.count("1 of the 9 images shown are not in the file") == 1
    assert "file not found" not in page.text
    assert len(page.tags("img")) == 8


def test_embeddings_without_paths_and_cameras_have_tiles_all_the_same(full_run, parse):
    path = full_run / "ranks.json"
    ranks = json.loads(path.read_text(encoding="utf-8"))
    for one in ranks["rankings"]:
        for entry in (one["query"], *one["results"]):
            entry.update(path="", camid="")
    path.write_text(json.dumps(ranks), encoding="utf-8")
    page = parse(write_report(full_run))
    assert len(page.with_class("noimage")) == page.text.count("no name") == 9
    assert "no name 1 ✓ right 1 0.100" in page.text
    assert page.text.count("None of the images is in the file that is recorded") == 1


def test_galleries_after_reranking_are_folded_away(full_run, parse):
    path = full_run / "ranks.json"
    ranks = json.loads(path.read_text(encoding="utf-8"))
    ranks["rankings"] += [{**one, "postprocessing": ["smooth"]} for one in ranks["rankings"]]
    path.write_text(json.dumps(ranks), encoding="utf-8")
    page = parse(write_report(full_run))
    assert page.tags("details") == [{"class": "reranked"}, {}]
    before, _, folded = page.text.partition("After re-ranking: 3 queries")
    assert (before.count("order: plain"), before.count("order: after smooth")) == (3, 0)
    assert (folded.count("order: plain"), folded.count("order: after smooth")) == (0, 3)


def test_camera_tables_are_explained_once(detailed_run, parse):
    text = parse(write_report(detailed_run)).text
    assert text.count("AP by camera pair, in percent") == 2
    assert text.count("Queries of the camera on the left") == 1


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


def test_an_evaluation_in_full_is_shown_with_everything(detailed_run, parse):
    page = parse(write_report(detailed_run))
    for heading in (
        "In full: market1501",
        "Further figures",
        "Why the first answer was wrong plain",
        "Identities with the lowest AP",
        "AP by camera pair, in percent plain",
        "Broken images",
    ):
        assert heading in page.text
    assert "threshold 0.58 fpr=1e-3" in page.text
    assert "15 of the 40 in details.json." in page.text
    assert len(page.with_class("heat")) == 2
    assert len(page.with_class("bar")) == 4


def test_warnings_stand_before_the_numbers(detailed_run, parse):
    text = parse(write_report(detailed_run)).text
    warning = "market1501 : 62 % of all distances are tied"
    assert 0 < text.index(warning) < text.index("Outcome")
    assert "25 broken images: replaced in training, left out of tests" in text


def test_broken_images_are_named_with_their_reason_and_few(detailed_run, parse, nasty_name):
    text = parse(write_report(detailed_run)).text
    assert f"test market1501 /data/3 {nasty_name} truncated <jpeg>" in text
    assert "5 more are in broken_images.json." in text


def test_reranked_figures_are_no_outcome_and_no_curve(full_run, write_run, make_evaluation, parse):
    plain = [make_evaluation(0, 0.1), make_evaluation(200, 0.4)]
    after = make_evaluation(200, 0.9, postprocessing=["k-reciprocal re-ranking"], features="flip")
    write_run(full_run, results={"schema": 1, "evaluations": [*plain, after], "best": None})
    page = parse(write_report(full_run))
    assert len(page.with_class("card")) == 1
    assert "mAP 10.0 % → 40.0 %" in page.text
    assert "epoch 5 flip after k-reciprocal re-ranking 90.0 %" in page.text
    # The log of the run has 41 %, and nothing of what came after re-ranking.
    assert "synthetic: 41 % at the end" in page.text
    assert "90 % at the end" not in page.text


def test_caveats_of_the_way_there_are_not_those_of_the_final_figures(
    full_run, write_run, make_evaluation, parse
):
    untrained = make_evaluation(0, 0.01, caveats=["at chance level"])
    final = make_evaluation(200, 0.4)
    write_run(full_run, results={"schema": 1, "evaluations": [untrained, final], "best": None})
    assert "at chance level" not in parse(write_report(full_run)).text


def test_names_of_any_kind_are_escaped(tmp_path, write_run, make_detail, parse):
    evil = '"><script>alert(1)</script>行人' + "x" * 200
    cameras = {"query_cameras": [evil], "gallery_cameras": [evil], "ap": [[0.5]],
               "num_queries": [[1]]}  # fmt: skip
    cloud = {"x": [0.0], "y": [0.0], "pids": [evil], "sides": ["query"], "explained": 0.5}
    threshold = {"value": 1, "distance": evil, "criterion": evil, "source": evil}
    one = make_detail(
        evil, protocol=evil, protocol_description=evil, distance=evil, features=evil,
        postprocessing=[evil], metrics={evil: 0.5}, intervals={}, camera_pairs=cameras, map=cloud,
        failures=[{"reason": evil, "explanation": evil, "count": 1}],
        identities=[{"pid": evil, "ap": 0.1, "num_queries": 1}], warnings=[evil],
        threshold=threshold,
    )  # fmt: skip
    page = parse(write_report(write_run(tmp_path / "run", details={"schema": 1, "details": [one]})))
    assert not page.tags("script")
    assert page.text.count("<script>alert(1)</script>") >= 12


def test_a_page_of_a_thousand_cameras_and_a_hundred_thousand_identities_is_small(
    tmp_path, write_run, make_detail, parse
):
    names = [f"camera {n}" for n in range(1000)]
    row = [0.5] * 1000
    cameras = {"query_cameras": names, "gallery_cameras": names, "ap": [row] * 1000,
               "num_queries": [[1] * 1000] * 1000}  # fmt: skip
    count = 5000
    places = [n / count for n in range(count)]
    one = make_detail(
        camera_pairs=cameras,
        identities=[{"pid": str(n), "ap": 0.5, "num_queries": 1} for n in range(100_000)],
        cmc=places,
        verification={**make_detail()["verification"], "fpr": places, "tpr": places,
                      "thresholds": places},
        histogram={"edges": [*places, 1.0], "same": [1] * count, "different": [1] * count},
        map={"x": places, "y": places, "pids": list(map(str, range(count))),
             "sides": ["query", "gallery"] * (count // 2), "explained": 0.5},
    )  # fmt: skip
    path = write_report(write_run(tmp_path / "run", details={"schema": 1, "details": [one]}))
    assert path.stat().st_size < 500_000
    text = parse(path).text
    assert "The 24 cameras with most queries; 976 more are in the CSV." in text
    assert "At most 2000 points of a kind are drawn." in text
    assert "15 of the 100\u202f000 in details.json.".replace("\u202f", " ") in text


def test_an_evaluation_misses_nothing_of_a_run(
    tmp_path, write_run, make_evaluation, make_detail, parse
):
    results = {"schema": 1, "outcome": "evaluated", "evaluations": [make_evaluation(0)]}
    folder = write_run(
        tmp_path / "out",
        results=results,
        ranks={"schema": 1, "rankings": []},
        details={"schema": 1, "details": [make_detail("synthetic", step=0)]},
    )
    page = parse(write_report(folder))
    assert "Not everything is here" not in page.text
    assert "out – evaluation report" in page.text
    assert "Curves" not in page.text
    assert "Configuration" not in page.text
    assert "earlier evaluation" not in page.text
    assert "after 0 steps" not in page.text
    assert "In full: synthetic" in page.text


def test_a_damaged_file_of_an_evaluation_is_named_all_the_same(tmp_path, write_run, parse):
    folder = write_run(tmp_path / "out", results={"schema": 1, "outcome": "evaluated"}, env=[])
    text = parse(write_report(folder)).text
    assert "env.json is not shown" in text
    assert "details.json is missing" in text
