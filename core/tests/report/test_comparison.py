import re

import pytest

from reid_core.errors import DataError, UsageError
from reid_core.report import write_comparison
from reid_core.report.comparison import compared_sets, run_names
from reid_core.report.run_folder import read_run_folder


@pytest.fixture
def runs(tmp_path, write_run, make_detail, make_reranked):
    def make(**second):
        entries = {
            "first": [make_detail(), make_reranked()],
            "second": [make_detail(lift=0.08, seed=1, **second)],
        }
        return [
            write_run(tmp_path / name, details={"schema": 1, "details": one})
            for name, one in entries.items()
        ]

    return make


def compared(runs):
    return compared_sets(run_names(runs), [read_run_folder(run) for run in runs])


def test_the_difference_has_an_interval_and_a_p_value(runs, make_detail):
    plain, reranked = compared(runs())
    assert plain.name == "market1501, protocol market1501, plain"
    first, second = plain.rows
    assert (first.run, first.difference, first.p_value) == ("first", "", "")
    a, b = make_detail()["ap"], make_detail(lift=0.08, seed=1)["ap"]
    known = [(x, y) for x, y in zip(a, b, strict=True) if x is not None]
    difference = 100 * sum(y - x for x, y in known) / len(known)
    assert second.difference == f"{difference:+.1f} points"
    low, high = map(float, second.interval.split(" to "))
    assert low < difference < high
    assert re.fullmatch(r"< 0\.001|0\.\d{3}", second.p_value)
    assert [row.run for row in reranked.rows] == ["first"]


def test_a_run_compared_with_itself_differs_by_chance(runs):
    [first, _] = runs()
    plain = compared([first, first])[0]
    assert plain.rows[1].difference == "+0.0 points"
    assert plain.rows[1].p_value == "1.000"


def test_other_queries_are_not_tested_and_the_reason_is_said(runs):
    second = compared(runs(query_pids=["9"] * 200))[0].rows[1]
    assert second.difference == ""
    assert "200 of 200 queries show another identity" in second.problem


def test_another_protocol_is_a_set_of_its_own(runs):
    found = compared(runs(protocol="no_camera"))
    assert [len(one.rows) for one in found] == [1, 1, 1]
    assert found[2].name == "market1501, protocol no_camera, plain"


def test_another_rule_of_one_name_is_a_set_of_its_own(runs):
    found = compared(runs(protocol_description="another setting"))
    assert [len(one.rows) for one in found] == [1, 1, 1]
    assert found[2].name == "market1501, protocol market1501 (another setting), plain"
    assert found[2].rows[0].p_value == ""


def test_curves_of_all_runs_lie_over_each_other(runs):
    drawing = compared(runs())[0].drawing
    assert [mark.name for mark in drawing.legend] == ["first", "second"]


def test_none_of_several_ways_of_measuring_is_lost(tmp_path, write_run, make_detail):
    entries = [make_detail(), make_detail(distance="euclidean")]
    run = write_run(tmp_path / "run", details={"schema": 1, "details": entries})
    found = compared([run, run])
    assert [one.rows[1].how.split(",")[0] for one in found] == [
        "cosine distance",
        "euclidean distance",
    ]
    assert found[1].name == "market1501, protocol market1501, plain (2)"


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path):
    paths = [tmp_path / "a" / "run", tmp_path / "b" / "run", tmp_path / "b" / "run"]
    assert run_names(paths[:2]) == ("a/run", "b/run")
    assert run_names(paths[1:]) == ("run (1)", "run (2)")


def test_the_page_is_written_and_says_what_is_compared(runs, tmp_path, parse):
    path = write_comparison(runs(), tmp_path)
    assert path == tmp_path / "comparison.html"
    page = parse(path)
    assert "Every run is compared with the first, first:" in page.text
    assert not page.tags("script")
    assert write_comparison(runs(), tmp_path / "mine.html") == tmp_path / "mine.html"


def test_details_files_can_be_named_themselves(runs, tmp_path):
    files = [run / "details.json" for run in runs()]
    assert write_comparison(files, tmp_path).is_file()


def test_mistakes_are_named(runs, tmp_path, full_run):
    [first, _] = runs()
    with pytest.raises(UsageError, match="cannot compare 1 run; expected two or more"):
        write_comparison([first], tmp_path)
    with pytest.raises(UsageError, match="nowhere: it is not a folder"):
        write_comparison([first, tmp_path / "nowhere"], tmp_path)
    (first / "details.json").write_text("{")
    with pytest.raises(DataError, match=r"details\.json is not shown: it is no JSON"):
        write_comparison([first, first], tmp_path)
    with pytest.raises(
        DataError, match=r"it is empty\. Expected a details\.json with at least one evaluation"
    ):
        write_comparison([full_run, full_run], tmp_path)
