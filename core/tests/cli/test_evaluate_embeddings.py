"""``reid-eval --embeddings``: figures, files and the gate, without a model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reid_core.cli.evaluate import main
from reid_core.evaluation import market1501

SHARED = Path(__file__).resolve().parents[4] / "shared"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def answer(*arguments: object) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 queries and 90 gallery entries of 10 identities, with names of files."""
    rng = np.random.default_rng(0)
    pids = np.tile(np.arange(1, 11), 12)
    values = rng.normal(size=(10, 16))[pids - 1] + 1.2 * rng.normal(size=(120, 16))
    path = tmp_path_factory.mktemp("features") / "mine.npz"
    np.savez(
        path,
        qf=values[:30].astype(np.float32),
        gf=values[30:].astype(np.float32),
        q_pids=pids[:30],
        g_pids=pids[30:],
        q_camids=np.arange(30) // 10,
        g_camids=np.arange(90) % 4,
        q_names=np.array([f"q/{row}.jpg" for row in range(30)]),
        g_names=np.array([f"g/{row}.jpg" for row in range(90)]),
    )
    return path


def reference(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"reference data is missing: {path}")
    return path


def test_the_golden_file_gives_its_numbers():
    path = reference("golden/evaluation.npz")
    (found,) = answer("--embeddings", path)["evaluations"]
    golden = np.load(path)
    assert found["metrics"]["mAP"] == pytest.approx(float(golden["market/mAP"]), abs=1e-6)
    assert found["metrics"]["mINP"] == pytest.approx(float(golden["market/mINP"]), abs=1e-6)
    for rank in (1, 5, 10):
        expected = float(golden["market/cmc"][rank - 1])
        assert found["metrics"][f"rank{rank}"] == pytest.approx(expected, abs=1e-6)


def test_the_golden_file_gives_its_re_ranked_numbers_beside_the_plain_ones():
    path = reference("golden/evaluation.npz")
    found = answer("--embeddings", path, "--rerank", "k_reciprocal", "--no-details")
    plain, reranked = found["evaluations"]
    golden = np.load(path)
    assert plain["metrics"]["mAP"] == pytest.approx(float(golden["market/mAP"]), abs=1e-6)
    expected = float(golden["rerank/k1=20/k2=6/lambda=0.3/mAP"])
    assert reranked["metrics"]["mAP"] == pytest.approx(expected, abs=1e-4)
    assert "k-reciprocal" in reranked["postprocessing"][0]


def test_the_real_embeddings_give_what_two_toolboxes_say():
    path = reference("data/fixtures/lpc_reid_osnet_x0_25_msmt17.npz")
    expected = json.loads(path.with_suffix(".expected.json").read_text())["fastreid"]
    (found,) = answer("--embeddings", path, "--no-details")["evaluations"]
    metrics = found["metrics"]
    # The toolboxes took the stored vectors as they are. float16 has rounded their norms, which a
    # cosine divides out: that moves the means by 9e-6, and no rank of the CMC.
    assert metrics["mAP"] == pytest.approx(expected["mAP"], abs=2e-5)
    assert metrics["mINP"] == pytest.approx(expected["mINP"], abs=2e-5)
    ranks = [metrics[f"rank{k}"] for k in (1, 5, 10)]
    assert ranks == pytest.approx(expected["cmc_1_5_10"], abs=1e-6)


def test_people_are_told_figures_intervals_and_counts(features):
    # Case B051: valid and skipped queries, mean matches, rank-1 of chance.
    result = run("--embeddings", features)
    assert result.exit_code == 0, result.output
    first, intervals, further, counts, rule = result.stdout.splitlines()
    assert first.startswith("mine: mAP ")
    assert first.endswith("(protocol market1501, cosine distance)")
    assert intervals.startswith("  95 % intervals over identities: mAP ")
    assert "auc" in further
    assert "30 queries: 30 valid, 0 skipped; 90 gallery entries, " in counts
    assert "matches a query; chance rank1 " in counts
    assert rule == f"  protocol market1501: {market1501().description}"


def test_rules_of_one_name_are_told_apart(features, tmp_path):
    given = dict(np.load(features))
    clothes = {
        side: np.arange(len(given[f"{side[0]}f"])) // 10 % 2 for side in ("query", "gallery")
    }
    path = tmp_path / "clothes.npz"
    np.savez(path, **given, **{f"{side}_clothids": values for side, values in clothes.items()})
    rules = []
    for setting in ("standard", "changed"):
        protocol = f"{{name: ltcc, setting: {setting}}}"
        result = run("--embeddings", path, "--protocol", protocol, "--no-details")
        assert result.exit_code == 0, result.output
        rules += [line for line in result.stdout.splitlines() if line.startswith("  protocol")]
    assert len(set(rules)) == 2


def test_saved_embeddings_give_the_same_figures(features, tmp_path):
    for name in ("again.npz", "again.parquet"):
        first = answer("--embeddings", features, "--save-embeddings", tmp_path / name)
        again = answer("--embeddings", tmp_path / name)
        for key in ("metrics", "num_queries", "protocol"):
            assert again["evaluations"][0][key] == first["evaluations"][0][key]
        assert again["details"][0]["ap"] == first["details"][0]["ap"]


def test_without_cameras_the_filter_is_off_and_said_to_be(features, tmp_path):
    arrays = {k: v for k, v in np.load(features).items() if "camids" not in k}
    np.savez(tmp_path / "blind.npz", **arrays)
    result = run("--embeddings", tmp_path / "blind.npz")
    assert "(protocol no_camera, cosine distance)" in result.stdout
    assert "its cameras are not known" in result.stderr


def test_protocol_distance_and_name_can_be_chosen(features):
    options = ["--protocol", "{name: no_camera}", "--distance", "euclidean"]
    found = answer("--embeddings", features, *options, "--dataset-name", "ours", "--no-details")
    (evaluation,) = found["evaluations"]
    assert (evaluation["protocol"], evaluation["distance"]) == ("no_camera", "euclidean")
    assert evaluation["dataset"] == "ours"
    assert found["details"] == []


def test_ranks_of_a_small_gallery_are_fewer_rows(features, tmp_path):
    # Cases B161 and B162: a row a query and entry; the similarity is a cosine.
    assert run("--embeddings", features, "--save-ranks", tmp_path / "r.csv", "--topk", 500)
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    of_first = [row for row in rows if row["query"] == "q/0.jpg"]
    assert [row["rank"] for row in of_first] == [str(n) for n in range(1, len(of_first) + 1)]
    assert 80 < len(of_first) < 90
    assert {row["query"] for row in rows} == {f"q/{row}.jpg" for row in range(30)}
    similarity = np.array([float(row["similarity"]) for row in rows])
    assert (np.abs(similarity) <= 1).all()
    assert similarity.min() < 0
    distance = np.array([float(row["distance"]) for row in rows])
    assert np.allclose(1 - distance, similarity, atol=1e-6)
    for row in of_first:
        assert row["match"] == str(int(row["pid"] == row["query_pid"]))
        assert row["order"] == "plain"
    # The file of the nearest entry is right: it is what numpy finds.
    arrays = np.load(features)
    unit = [arrays[k] / np.linalg.norm(arrays[k], axis=1, keepdims=True) for k in ("qf", "gf")]
    is_own = (arrays["g_pids"] == arrays["q_pids"][0]) & (
        arrays["g_camids"] == arrays["q_camids"][0]
    )
    nearest = int(np.argmax(np.where(is_own, -2, unit[1] @ unit[0][0])))
    assert of_first[0]["file"] == f"g/{nearest}.jpg"


def test_ranks_after_re_ranking_say_so(features, tmp_path):
    options = ["--rerank", "{name: k_reciprocal, k1: 5, k2: 2}", "--topk", 2, "--no-details"]
    result = run("--embeddings", features, *options, "--save-ranks", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["schema"] == 1
    assert len(content["rows"]) == 60
    assert all("k-reciprocal" in row["order"] for row in content["rows"])
    assert all(row["similarity"] is None for row in content["rows"])


def test_the_output_folder_has_all_files_and_is_never_overwritten(features, tmp_path):
    out = tmp_path / "out"
    options = ["--output", out, "--query", "7.jpg", "--query", 3, "--query", "nobody.jpg"]
    result = run("--embeddings", features, *options)
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    assert names >= {"results.json", "details.json", "ranks.json", "report.html", "plots"}
    assert list((out / "plots").glob("*.csv"))
    results = json.loads((out / "results.json").read_text())
    assert results["outcome"] == "evaluated"
    rankings = json.loads((out / "ranks.json").read_text())["rankings"]
    chosen = [one["query"]["path"] for one in rankings if one["selection"] == "chosen"]
    assert chosen == ["q/7.jpg", "q/3.jpg"]
    assert "--query nobody.jpg: no query of mine is called so" in result.stderr
    assert "7.jpg" in (out / "report.html").read_text()

    again = run("--embeddings", features, "--output", out)
    assert again.exit_code == 2
    assert "holds files already, and nothing is overwritten" in again.stderr


def test_a_missed_minimum_exits_with_5_after_the_files_are_saved(features, tmp_path):
    options = ["--min", "mAP=10%", "--min", "rank1=0.999", "--output", tmp_path / "out"]
    result = run("--embeddings", features, *options)
    assert result.exit_code == 5
    assert "ok      mine: mAP is " in result.stdout
    assert "missed  mine: rank1 is " in result.stderr
    assert "below the minimum of 99.9 % by " in result.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_every_kind_of_figure_can_have_a_minimum(features):
    names = ["mAP", "rank3", "rank20", "auc", "tpr@fpr=1e-2", "recall@1", "r_precision"]
    options = [text for name in names for text in ("--min", f"{name}=0")]
    options += ["--rerank", "{name: k_reciprocal, k1: 5, k2: 2}", "--min", "rerank:mAP=0.1"]
    verdicts = answer("--embeddings", features, *options)["minimums"]
    assert [one["metric"] for one in verdicts] == [*names, "rerank:mAP"]
    assert all(one["is_met"] for one in verdicts)
    plain, reranked = verdicts[0]["value"], verdicts[-1]["value"]
    assert plain != reranked


def test_a_threshold_is_chosen_on_other_embeddings(features, tmp_path):
    arrays = dict(np.load(features))
    rng = np.random.default_rng(1)
    other = {**arrays, "qf": arrays["qf"] + 0.1 * rng.normal(size=arrays["qf"].shape)}
    other["gf"] = arrays["gf"] + 0.1 * rng.normal(size=arrays["gf"].shape)
    np.savez(tmp_path / "val.npz", **other)
    options = ["--calibrate", "fpr=0.05", "--validation", tmp_path / "val.npz"]
    found = answer("--embeddings", features, *options, "--output", tmp_path / "out")
    assert found["threshold"]["criterion"] == "fpr=0.05"
    assert found["threshold"]["source"] == "val"
    (rates,) = found["threshold_rates"]
    assert 0.02 < rates["fpr"] < 0.08
    assert rates["tpr"] > rates["fpr"]
    stored = json.loads((tmp_path / "out" / "threshold.json").read_text())
    assert stored["threshold"] == found["threshold"]
    (detail,) = found["details"]
    assert detail["threshold"] == found["threshold"]
    assert detail["threshold_rates"]["accepted_same"] == rates["accepted_same"]

    same = run("--embeddings", features, "--calibrate", "eer", "--validation", features)
    assert same.exit_code == 2
    assert "share 120 images: a threshold chosen on the test set looks better" in same.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there is nothing to evaluate; name weights by --checkpoint runs/mine"),
        (["--embeddings", "a.npz", "--checkpoint", "b"], "exclude each other"),
        (["runs/mine"], "are named by options: --checkpoint runs/mine"),
        (["a.npz", "--json"], "are named by options: --embeddings a.npz"),
        (["--embeddings", "a.npz", "--rerank", "aqe,k=3"], "'{name: k_reciprocal, k1: 20}'"),
        (["--embeddings", "a.npz", "--config", "b"], "--embeddings needs none"),
        (["--embeddings", "a.pth"], "ends in .npz or .parquet"),
        (["--checkpoint", "a", "--checkpoint", "b"], "say how by --ensemble concat"),
        (["--checkpoint", "a", "--ensemble", "mean"], "needs several models"),
        (["--checkpoint", "a", "--dataset-name", "b"], "names the test set of --embeddings"),
        (["--checkpoint", "a", "--calibrate", "eer"], "--calibrate and --validation go together"),
        (["--checkpoint", "a", "--query", "1"], "add --output DIR"),
        (["--checkpoint", "a", "--topk", "0"], "expected at least 1"),
        (["--checkpoint", "a", "--save-ranks", "r.txt"], "ends in .csv or .json"),
        (["--checkpoint", "a", "--save-embeddings", "r.h5"], "ends in .npz or .parquet"),
        (["--embeddings", "a.npz", "--min", "map=0.5"], "did you mean mAP?"),
        (["--embeddings", "a.npz", "--min", "rank0=0.5"], "expected METRIC=FRACTION"),
        (["--embeddings", "a.npz", "--min", "mAP=80"], "such as 0.8 or 80%"),
        (["--embeddings", "a.npz", "--min", "auc=0.8", "--no-details"], "leave out --no-details"),
        (["--embeddings", "a.npz", "--set", "evaluate.features.flip=true"], "are made already"),
        (["--embeddings", "a.npz", "--set", "data.workers=0"], "data.workers changes nothing"),
        (["--compare", "a", "b", "--min", "mAP=0.1"], "excludes --min"),
        (["--compare", "a", "b", "--checkpoint", "c"], "excludes --checkpoint"),
    ],
)
def test_what_cannot_be_meant_says_what_to_type(options, message):
    result = run(*options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_draws_are_stored_and_printed_with_their_spread(features):
    found = answer("--embeddings", features, "--protocol", "{name: cuhk03, draws: 5}")
    evaluation, detail = found["evaluations"][0], found["details"][0]
    assert evaluation["num_trials"] > 1
    assert evaluation["deviations"]["rank1"] > 0
    assert detail["deviations"] == evaluation["deviations"]


def test_open_set_rates_are_printed_and_can_be_held_to_a_maximum(features, tmp_path):
    options = ["--protocol", "open_set"]
    known = run("--embeddings", features, *options)
    assert "  open set, 30 known and 0 unknown:  fnmr@fmr=1e-4 " in known.stdout
    assert "  warning: no query is of an unknown identity, so the rates" in known.stdout
    gate = ["--max", "fnir@fpir=1e-1=0"]
    lacking = run("--embeddings", features, *options, *gate)
    assert lacking.exit_code == 2
    assert "--max fnir@fpir=1e-1=0: no test set has this figure" in lacking.stderr
    assert lacking.stdout.startswith("mine: mAP ")

    given = dict(np.load(features))
    given["g_pids"] = np.where(given["g_pids"] == 1, 99, given["g_pids"])
    np.savez(tmp_path / "open.npz", **given)
    result = run("--embeddings", tmp_path / "open.npz", *options, *gate)
    assert "  open set, 27 known and 3 unknown:  fnir@fpir=1e-3 " in result.stdout
    assert "warning: no query" not in result.stdout
    assert result.exit_code == 5, result.output
    assert "missed  open: fnir@fpir=1e-1 is " in result.stderr
    plain = answer("--embeddings", tmp_path / "open.npz", *options)
    assert plain["evaluations"][0]["num_unknown"] == plain["details"][0]["num_unknown"] == 3


def test_a_column_that_a_protocol_lacks_is_named_with_its_keys(features):
    result = run("--embeddings", features, "--protocol", "clothes_change")
    assert result.exit_code == 3
    assert "mine, protocol clothes_change: the protocol needs the column clothids" in result.stderr
    assert "in an .npz file it is query_clothids and gallery_clothids" in result.stderr


def test_a_full_disk_at_the_end_costs_no_figures(features, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reid_core.engine.evaluation.rank_table.write_atomically", full)
    options = ["--save-embeddings", tmp_path / "e.npz", "--save-ranks", tmp_path / "ranks.csv"]
    options += ["--no-details", "--min", "mAP=1"]
    result = run("--embeddings", features, *options)
    assert result.exit_code == 3
    assert "ranks.csv cannot be written: No space left on device" in result.stderr
    assert "missed  mine: mAP is " in result.stderr
    assert result.stdout.startswith("mine: mAP ")
    assert f"wrote   {tmp_path / 'e.npz'}" in result.stdout
    assert "ranks.csv" not in result.stdout
    plain = run("--embeddings", features, *options, "--json")
    assert plain.exit_code == 3
    assert json.loads(plain.stdout)["evaluations"]


def test_a_maximum_that_is_exceeded_exits_with_5(features):
    result = run("--embeddings", features, "--max", "eer=0.001", "--max", "eer=1")
    assert result.exit_code == 5, result.output
    assert "missed  mine: eer is " in result.stderr
    assert "above the maximum of 0.1 % by " in result.stderr
    assert "at most the maximum of 100 %" in result.stdout


def test_a_minimum_that_no_figure_has_is_said_to_be(features):
    result = run("--embeddings", features, "--min", "rerank:mAP=0.5")
    assert result.exit_code == 2
    assert "nothing is re-ranked: add --rerank" in result.stderr


def test_one_sided_embeddings_are_searched_by_leave_one_out(tmp_path):
    # Case B052: identity 1 has no other image, and is left out.
    features = np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32)
    np.savez(tmp_path / "pool.npz", features=features, pids=np.array([0, 0, 1]))
    refused = run("--embeddings", tmp_path / "pool.npz")
    assert refused.exit_code == 3
    assert "has no gallery rows" in refused.stderr
    assert "--protocol leave_one_out" in refused.stderr
    found = answer("--embeddings", tmp_path / "pool.npz", "--protocol", "leave_one_out")
    (evaluation,) = found["evaluations"]
    assert evaluation["metrics"]["rank1"] == 1.0
    assert evaluation["num_valid_queries"] == 2


@pytest.mark.parametrize("option", ["--output", "--save-ranks", "--save-embeddings"])
def test_a_folder_that_cannot_be_made_is_said_before_anything_is_evaluated(
    features, tmp_path, option, monkeypatch
):
    def evaluate(*_: object) -> None:
        pytest.fail("it was evaluated")

    monkeypatch.setattr("reid_core.cli.evaluate.measure.measure", evaluate)
    (tmp_path / "file").write_text("")
    target = {"--output": "out", "--save-ranks": "out/r.csv", "--save-embeddings": "out/e.npz"}
    result = run("--embeddings", features, option, tmp_path / "file" / target[option])
    assert result.exit_code == 3, result.output
    assert f"{tmp_path / 'file' / 'out'} cannot be written: Not a directory" in result.stderr
