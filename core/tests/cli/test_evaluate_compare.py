"""``reid-eval --compare``: two runs, figure by figure, and whether the difference may be chance."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reid_core.cli.evaluate import main
from reid_core.engine.evaluation.details import write_details
from reid_core.engine.results import Evaluation, Results
from reid_core.evaluation.detail import Detail
from reid_core.evaluation.metrics.comparison import compare_runs

RNG = np.random.default_rng(0)
AP = RNG.random(60)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["--compare", *map(str, arguments)])


def detail(ap: np.ndarray, **changes: object) -> Detail:
    made = Detail(
        dataset="market1501",
        step=10,
        protocol="market1501",
        protocol_description="the rule",
        distance="cosine",
        metrics={"mAP": float(ap.mean()), "rank1": 0.5},
        cmc=[0.5, 0.7],
        ap=ap.tolist(),
        query_pids=[str(row // 3) for row in range(len(ap))],
    )
    return replace(made, **changes)


def folder(path: Path, *details: Detail) -> Path:
    path.mkdir()
    write_details(path / "details.json", details)
    return path


def figures_only(path: Path, **changes: object) -> Path:
    path.mkdir()
    made = Evaluation(
        dataset="market1501",
        step=10,
        epoch=1.0,
        protocol="market1501",
        protocol_description="the rule",
        distance="cosine",
        metrics={"mAP": 0.4, "rank1": 0.6},
        num_queries=60,
        num_valid_queries=60,
        num_gallery=100,
    )
    older = replace(made, step=5, metrics={"mAP": 0.1, "rank1": 0.2})
    Results([older, replace(made, **changes)]).write(path / "results.json", outcome="finished")
    return path


def test_a_better_run_is_told_from_chance(tmp_path):
    better = np.clip(AP + 0.05 + 0.02 * RNG.random(60), 0, 1)
    a, b = folder(tmp_path / "a", detail(AP)), folder(tmp_path / "b", detail(better))
    result = run(a, b)
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if line.strip().startswith("mAP")]
    expected = compare_runs(AP, better, detail(AP).query_pids)
    assert f"{100 * AP.mean():.2f} %" in line
    assert f"{100 * (better.mean() - AP.mean()):+.2f}" in line
    assert f"p {expected.p_value:.4f}, 20 identities" in line
    assert expected.p_value < 0.01

    plain = json.loads(run(a, b / "details.json", "--json").stdout)
    (one,) = plain["sets"]
    assert one["figures"]["mAP"]["difference"] == pytest.approx(expected.difference)
    assert one["test"] == asdict(expected)


def test_the_page_and_the_figures_are_written_once(tmp_path):
    a, b = folder(tmp_path / "a", detail(AP)), folder(tmp_path / "b", detail(AP[::-1].copy()))
    assert run(a, b, "--output", tmp_path / "c").exit_code == 0
    assert "market1501" in (tmp_path / "c" / "comparison.html").read_text()
    assert json.loads((tmp_path / "c" / "comparison.json").read_text())["schema"] == 1
    again = run(a, b, "--output", tmp_path / "c")
    assert again.exit_code == 2
    assert "holds files already" in again.stderr


def test_re_ranked_figures_are_compared_with_their_like(tmp_path):
    reranked = detail(AP / 2, postprocessing=["k-reciprocal"])
    a = folder(tmp_path / "a", detail(AP), reranked)
    b = folder(tmp_path / "b", detail(AP), replace(reranked, postprocessing=["expansion"]))
    output = run(a, b, "--output", tmp_path / "c").stdout
    assert "market1501 (protocol market1501, re-ranked)" in output
    assert "  re-ranking: k-reciprocal and expansion" in output

    # The page pairs them as the command does, and says the same.
    page = (tmp_path / "c" / "comparison.html").read_text()
    assert "the first run was not measured so" not in page
    assert "market1501, protocol market1501, re-ranked" in page
    assert "cosine distance, after k-reciprocal" in page
    assert "cosine distance, after expansion" in page
    assert page.count("+0.0 points") == output.count("+0.00  (95 % interval") == 2


def test_figures_alone_are_compared_and_said_to_tell_nothing_of_chance(tmp_path):
    a, b = figures_only(tmp_path / "a"), folder(tmp_path / "b", detail(AP))
    output = run(a, b, "--output", tmp_path / "c").stdout
    assert "  mAP            40.00 %" in output
    assert "figures only: without details.json in both runs" in output
    assert not (tmp_path / "c" / "comparison.html").exists()


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"dataset": "duke"}, 2, "have no test set in common: market1501 and duke"),
        ({"protocol": "no_camera"}, 2, "by protocol market1501 (the rule) and"),
        ({"query_pids": ["x"] * 60}, 3, "60 of 60 queries show another identity"),
        ({"ap": [0.5] * 59}, 3, "60 and 59 queries"),
    ],
)
def test_runs_that_differ_in_what_was_measured_are_refused(tmp_path, changes, code, message):
    a = folder(tmp_path / "a", detail(AP))
    result = run(a, folder(tmp_path / "b", replace(detail(AP), **changes)))
    assert result.exit_code == code
    assert message in result.stderr


def test_other_distances_are_compared_and_named(tmp_path):
    a = folder(tmp_path / "a", detail(AP))
    b = folder(tmp_path / "b", detail(AP, distance="euclidean", features="mean of 2 views"))
    output = run(a, b).stdout
    assert "  distance: cosine and euclidean" in output
    assert "  features: plain and mean of 2 views" in output


def test_no_details_is_refused_too_and_plugin_options_do_no_harm(tmp_path):
    a, b = folder(tmp_path / "a", detail(AP)), folder(tmp_path / "b", detail(AP))
    assert "excludes --details;" in run(a, b, "--no-details").stderr
    assert run(a, b, "--no-plugins").exit_code == 0


def test_a_folder_without_figures_is_refused(tmp_path):
    a = folder(tmp_path / "a", detail(AP))
    (tmp_path / "b").mkdir()
    empty = run(a, tmp_path / "b")
    assert empty.exit_code == 3
    assert "has neither details.json nor results.json" in empty.stderr
    (tmp_path / "b" / "details.json").write_text("{")
    assert "details.json cannot be read: Expecting property" in run(a, tmp_path / "b").stderr
    (tmp_path / "b" / "details.json").write_text("[]")
    assert "details.json holds no details" in run(a, tmp_path / "b").stderr
    (tmp_path / "b" / "details.json").write_text('{"schema": 1, "details": [{"dataset": 1}]}')
    assert "details.json cannot be read: 0." in run(a, tmp_path / "b").stderr


@pytest.mark.parametrize(
    "option",
    [
        ("--rerank", "k_reciprocal"),
        ("--protocol", "no_camera"),
        ("--distance", "euclidean"),
        ("--set", "seed=1"),
        ("--query", "0"),
        ("--checkpoint", "runs/mine"),
        ("--max", "eer=0.1"),
        ("--topk", "20"),
        ("--device", "cpu"),
        ("--details",),
    ],
)
def test_what_would_change_nothing_is_refused(tmp_path, option):
    a, b = folder(tmp_path / "a", detail(AP)), folder(tmp_path / "b", detail(AP))
    result = run(a, b, *option)
    assert result.exit_code == 2
    assert f"--compare reads what was evaluated before, and excludes {option[0]};" in result.stderr
